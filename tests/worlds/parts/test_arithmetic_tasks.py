import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall
from handaxe.testing.task_contract import check_tasks
from handaxe.tools.calculator import calculator
from handaxe.tools.compute import compute
from handaxe.worlds.parts.arithmetic_tasks import PHRASINGS, tasks


def exact(task, text):
    return float(text == task.answer)


def test_tasks_keep_the_contract_and_tools_confirm_answers():
    made = tasks(count=200, seed=0)
    check_tasks(made, exact)
    for task, graded in zip(made, tasks(count=200, seed=0, gold="compute")):
        (gold,), (parts,) = task.metadata["gold_calls"], graded.metadata["gold_calls"]
        assert calculator.run(ToolCall(**gold)).content == task.answer
        assert compute.run(ToolCall(**parts)).content == task.answer
        assert gold["arguments"]["expression"] == task.metadata["expression"]
        assert task.messages[0].content in {p.format(task.metadata["expression"]) for p in PHRASINGS}
        assert task.messages == graded.messages


def test_difficulty_follows_the_digits():
    made = tasks(count=400, seed=1)
    for task in made:
        operands = task.metadata["expression"].replace("*", " ").replace("+", " ").replace("-", " ").split()
        assert sum(len(n) for n in operands) == task.metadata["digits"]
        assert (task.metadata["digits"] == 2) == (task.metadata["difficulty"] == "easy")
    assert {task.metadata["digits"] for task in made} == {2, 4, 5, 6}
    assert 140 < sum(task.metadata["difficulty"] == "easy" for task in made) < 260
    assert all(t.metadata["difficulty"] == "hard" for t in tasks(count=50, seed=1, easy=0))
    assert all(t.metadata["difficulty"] == "easy" for t in tasks(count=50, seed=1, easy=1))


def problem(task):
    """The problem without order: 3+4 is 4+3."""
    expression = task.metadata["expression"]
    symbol = next(c for c in expression if c in "+-*")
    left, right = expression.split(symbol)
    return symbol, *((left, right) if symbol == "-" else sorted([left, right]))


def test_splits_are_disjoint_for_all_seeds():
    train = {problem(t) for seed in range(3) for t in tasks(count=1500, seed=seed)}
    test = {problem(t) for seed in range(3) for t in tasks(count=1500, seed=seed, split="test")}
    assert not train & test
    assert 0.15 < len([p for p in test if len(p[1]) == 1]) / len([p for p in test | train if len(p[1]) == 1]) < 0.35


def test_the_seed_determines_tasks():
    assert tasks(count=20, seed=3) == tasks(count=20, seed=3)
    assert tasks(count=20, seed=3) == tasks(count=40, seed=3)[:20]
    assert [t.messages for t in tasks(count=20, seed=3)] != [t.messages for t in tasks(count=20, seed=4)]
    assert tasks(count=1, seed=0, tools=())[0].tools == ()


def test_arguments_out_of_range_raise():
    with pytest.raises(TaskError, match="empty"):
        tasks(count=0, seed=0)
    for settings in ({"easy": 1.5}, {"split": "dev"}, {"phrasings": ()}):
        with pytest.raises(InputError):
            tasks(count=1, seed=0, **settings)
