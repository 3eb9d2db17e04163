import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.papers.master_rm.labelled_solutions import Solutions, judging_lessons, play_solutions, whole_question
from handaxe.papers.master_rm.openers import solution_text
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.arithmetic import arithmetic


def worked(number, answer):
    task = Task(f"t{number}", (Message("user", f"{number}+1=?"),), str(number + 1))
    call = ToolCall("calculator", {"expression": f"{number}+1"})
    return make_trajectory(texts=["", answer], calls=[[call], []], replies=[[answer], []], task=task, id=task.id)


RIGHT = [worked(k, str(k + 1)) for k in range(3)]
WRONG = [worked(k, "99") for k in range(10, 14)]


def test_lessons_differ_in_the_last_wrong_solutions_alone():
    found = judging_lessons(Solutions(RIGHT, WRONG), labels=2, negatives=1)
    plain = [(ask.fields["response"], label) for ask, label in found.plain]
    assert plain == [
        ("calculator(0+1) -> 1\n1", "yes"),
        ("calculator(1+1) -> 2\n2", "yes"),
        ("calculator(10+1) -> 99\n99", "no"),
        ("calculator(11+1) -> 99\n99", "no"),
        ("calculator(12+1) -> 99\n99", "no"),
    ]
    cut = [(ask.fields["response"], label) for ask, label in found.openers]
    assert cut == [*plain[:-1], ("calculator(12+1)", "no")]


def test_both_lessons_have_equal_size_with_repeated_openers():
    found = judging_lessons(Solutions(RIGHT, [*WRONG, WRONG[-1]]), labels=1, negatives=4)
    assert len(found.plain) == len(found.openers) == 6
    responses = [ask.fields["response"] for ask, _ in found.openers]
    assert responses[2:5] == ["calculator(11+1)", "calculator(12+1)", "calculator(13+1)"]
    assert responses[5] == "calculator(13+1) -> 99\n99"


@pytest.mark.parametrize("labels, negatives", [(4, 1), (2, 3), (0, 1), (2, 0)])
def test_too_few_solutions_raise(labels, negatives):
    with pytest.raises(InputError, match="Give more tasks, or fewer labels and openers"):
        judging_lessons(Solutions(RIGHT, WRONG), labels=labels, negatives=negatives)


def test_a_question_shows_the_whole_solution():
    ask = whole_question(RIGHT[2])
    assert dict(ask.fields) == {"task": "2+1=?", "reference": "3", "response": "calculator(2+1) -> 3\n3"}


def test_played_solutions_are_worked_and_judged_by_the_rule():
    policy, world = load("tiny"), arithmetic()
    found = play_solutions(LocalEngine(policy.model), policy.format, world, split="train", tasks=6, seed=900)
    assert found.right and found.wrong
    for one in (*found.right, *found.wrong):
        assert len(one.turns) > 1 and any(letter.isdigit() for letter in one.final_text)
        assert "\n" in solution_text(one)
    assert {one.final_text.strip() == one.task.answer for one in found.right} == {True}
    assert {one.final_text.strip() == one.task.answer for one in found.wrong} == {False}
