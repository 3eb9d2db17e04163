import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.reasoning_sql.tables import tables
from handaxe.papers.reasoning_sql.tags_in_order import tags_in_order
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = [
    LabCase('tags_in_order(tags=("sql",))', tables, lambda world: tags_in_order(tags=("sql",))),
]


def outcome(reward, *texts):
    return reward(make_group(trajectories=[make_trajectory(texts=[t]) for t in texts])).outcome.tolist()


def test_tags_in_order_equals_the_worked_examples():
    reward = tags_in_order(tags=("think", "answer"), strict=0.5, relaxed=0.125)
    texts = (
        "<think>a</think><answer>b</answer>",
        "<answer>b</answer><think>a</think>",
        "<think>a<answer>b</answer>",
    )
    assert outcome(reward, *texts) == [0.75, 0.25, 0.125]


@pytest.mark.parametrize(
    "text, right",
    [
        ("<think>a</think>\n <answer>b</answer>\n", 1),
        ("<think></think><answer></answer>", 1),
        ("<think>a\nb</think><answer>c</answer>", 1),
        ("so <think>a</think><answer>b</answer>", 0),
        ("<think>a</think> so <answer>b</answer>", 0),
        ("<think>a</think><answer>b</answer> so", 0),
        ("<think>a</think><answer>b</answer><answer>b</answer>", 0),
        ("<think>a<answer>b</answer></think>", 0),
        ("</think>a<think><answer>b</answer>", 0),
        ("<think>a</think>", 0),
        ("", 0),
    ],
)
def test_strict_requires_the_whole_text(text, right):
    assert outcome(tags_in_order(), text) == [right]


def test_missing_and_repeated_tags_are_penalized():
    reward = tags_in_order(strict=0, relaxed=0, penalty=0.5)
    texts = ("<think>a</think><answer>b</answer>", "<think>a</think>", "<think><think>a</think>", "")
    assert outcome(reward, *texts) == [0, -0.5, -1, -1]


def test_tags_may_depend_on_the_task_and_calls_are_tags():
    task = make_task(answer={"calls": [{"name": "f", "arguments": {}}]})
    called = make_trajectory(texts=["<think>a</think>"], calls=[["f"]], replies=[["1"]], task=task)
    broken = make_trajectory(texts=["<think>a</think>"], errors=[["not JSON"]], task=task)
    reward = tags_in_order(tags=lambda task: ("think", "tool_call") if task.answer["calls"] else ("think",))
    assert reward(make_group(trajectories=[called, broken])).outcome.tolist() == [1, 0]


def test_malformed_and_forged_calls_are_not_in_place():
    reward = tags_in_order(tags=("think", "tool_call", "answer"), relaxed=0.125)
    closed = make_trajectory(
        texts=["<think>a</think>", "</tool_call><answer>c</answer>"], errors=[["not JSON"], []], calls=[[], []]
    )
    written = make_trajectory(texts=["<think>a</think><tool_call>x</tool_call><answer>c</answer>"])
    called = make_trajectory(texts=["<think>a</think>", "<answer>c</answer>"], calls=[["f"], []])
    assert reward(make_group(trajectories=[closed, written, called])).outcome.tolist() == [0.25, 0.25, 1.375]
