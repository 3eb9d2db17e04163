import random

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall
from handaxe.rewards.action_match import action_match
from handaxe.testing.records import make_group, make_task, make_trajectory

REFERENCE = [{"name": "f", "arguments": {"x": 1, "y": 2}}]
CONTRACT = [{}, {"placed": ("f",)}, {"worded": ("f", "g")}]


def click(x, y):
    return ToolCall("click", {"x": x, "y": y})


def write(text):
    return ToolCall("write", {"text": text})


def scored(gold, made, **options):
    """`made`: for each sibling, the calls of each of its turns."""
    task = make_task(answer=[gold])
    group = make_group(
        task=task,
        trajectories=[make_trajectory(texts=[""] * len(turns), calls=turns, task=task) for turns in made],
    )
    return action_match(**options)(group).outcome.tolist()


def test_examples():
    made = [[[click(101, 50)]], [[click(121, 50)]], [[ToolCall("scroll", {"direction": "up"})]], [[]]]
    assert scored(click(110, 50), made, box=lambda task: (100, 40, 120, 60), near=8) == [1, 0, 0, 0]
    assert scored(click(110, 50), made, box=lambda task: (100, 40, 120, 60), near=12) == [1, 1, 0, 0]
    listed = [[[ToolCall("click", {"ref": ref})]] for ref in (3, 2)]
    assert scored(ToolCall("click", {"ref": 3}), listed) == [1, 0]
    said = [[[write(text)]] for text in ("Car red", "red bus", "bus", "")]
    assert scored(write("red car"), said) == [1, 1, 0, 0]


def test_inside_is_strict_and_near_is_less_than():
    box = {"box": lambda task: (100, 40, 120, 60)}
    made = [[[click(*point)]] for point in ((100, 50), (120, 50), (110, 40), (101, 59), (100.5, 40.5))]
    assert scored(click(110, 50), made, near=0, **box) == [0, 0, 0, 1, 1]
    made = [[[click(110 + 140, 50)]], [[click(110 + 139.9, 50)]], [[click(110, 50 - 100)]]]
    assert scored(click(110, 50), made) == [0, 1, 1]


def test_a_number_in_a_list_is_that_number_and_nothing_else():
    refs = (1, 1.0, True, "1", None, 2, [1])
    made = [[[ToolCall("click", {"ref": ref})]] for ref in refs] + [[[click(1, 1)]], [[write("1")]], [[]]]
    assert scored(ToolCall("click", {"ref": 1}), made) == [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert scored(click(5, 5), [[[ToolCall("click", {"x": 5, "y": 5, "ref": 9})]]]) == [1]


def test_the_first_call_of_the_last_turn_that_calls_counts():
    right, wrong = click(1, 1), click(900, 900)
    made = [[[right, wrong]], [[wrong, right]], [[right], [wrong]], [[wrong], [right]], [[right], []]]
    assert scored(right, made) == [1, 0, 0, 1, 1]


def test_other_types_are_right_by_their_name():
    assert scored(ToolCall("back", {}), [[[ToolCall("back", {"x": "?"})]], [[click(1, 1)]]]) == [1, 0]


def test_what_no_point_is():
    bad = [click("1", "1"), click(None, 1), click(True, True), click(float("nan"), 1), click(10**400, 1)]
    bad += [ToolCall("click", {}), ToolCall("click", {"x": 1}), click([1], 1), click("__import__('os')", 1)]
    assert scored(click(1, 1), [[[one]] for one in bad], box=lambda task: (0, 0, 1000, 1000)) == [0] * len(bad)


def test_against_a_slow_loop():
    draw, right = random.Random(0), 0
    for _ in range(200):
        box = [draw.randint(0, 40), draw.randint(0, 40), draw.randint(50, 90), draw.randint(50, 90)]
        gold, said = [draw.randint(0, 99) for _ in range(2)], [draw.randint(0, 99) for _ in range(2)]
        (found,) = scored(click(*gold), [[[click(*said)]]], box=lambda task, box=box: box, near=20)
        inside = box[0] < said[0] < box[2] and box[1] < said[1] < box[3]
        far = (said[0] - gold[0]) ** 2 + (said[1] - gold[1]) ** 2
        assert found == float(inside or far < 400)
        right += found
    assert 20 < right < 180
    words = ("a", "b", "c", "d")
    for _ in range(200):
        gold, said = (draw.choices(words, k=draw.randint(1, 5)) for _ in range(2))
        shared = len([word for word in words if word in gold and word in said])
        precision, recall = shared / len(set(said)), shared / len(set(gold))
        f1 = 2 * precision * recall / (precision + recall) if shared else 0.0
        assert scored(write(" ".join(gold)), [[[write(" ".join(said))]]]) == [float(f1 >= 0.5)]


def test_edges_and_what_does_not_fit():
    silent = make_trajectory(layouts=["UUt"], task=make_task(answer=[click(1, 1)]))
    assert action_match()(make_group(task=silent.task, trajectories=[silent])).outcome.tolist() == [0]
    with pytest.raises(InputError, match="near is 0 or more"):
        action_match(near=-1)
    with pytest.raises(InputError, match="least_f1 above 0"):
        action_match(least_f1=0)
    with pytest.raises(TaskError, match="no numbers x and y"):
        scored(ToolCall("click", {}), [[[click(1, 1)]]])
    with pytest.raises(TaskError, match="nor ref"):
        scored(ToolCall("click", {"ref": "1"}), [[[click(1, 1)]]])
    with pytest.raises(TaskError, match="no reference action"):
        action_match(gold=lambda task: ())(make_group(trajectories=[make_trajectory(texts=["a"])]))
    for box in ((1, 2, 3), (0, 0, 1, float("inf"))):
        with pytest.raises(TaskError, match="left, low, right and high"):
            scored(click(1, 1), [[[click(1, 1)]]], box=lambda task, box=box: box)
