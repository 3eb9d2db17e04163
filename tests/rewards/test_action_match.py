import random
from functools import partial

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.action_match import action_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.screen.widgets import cell_box
from handaxe.worlds.screen.world import NEAR, screen

REFERENCE = [{"name": "f", "arguments": {"x": 1, "y": 2}}]
CONTRACT = [{}, {"point_actions": ("f",)}, {"text_actions": ("f", "g")}]
LAB = [
    LabCase(
        "action_match(...)",
        partial(screen, told=True),
        lambda world: action_match(gold=world.need("reference"), box=cell_box, radius=NEAR),
    ),
]


def click(x, y):
    return ToolCall("click", {"x": x, "y": y})


def write(text):
    return ToolCall("write", {"text": text})


def scored(gold, made, **options):
    """`made`: calls of each turn, for each sibling."""
    task = make_task(answer=[gold])
    group = make_group(
        task=task,
        trajectories=[make_trajectory(texts=[""] * len(turns), calls=turns, task=task) for turns in made],
    )
    return action_match(**options)(group).outcome.tolist()


def test_action_match_matches_the_docstring_example():
    made = [[[click(101, 50)]], [[click(121, 50)]], [[ToolCall("scroll", {"direction": "up"})]], [[]]]
    assert scored(click(110, 50), made, box=lambda task: (100, 40, 120, 60), radius=8) == [1, 0, 0, 0]
    assert scored(click(110, 50), made, box=lambda task: (100, 40, 120, 60), radius=12) == [1, 1, 0, 0]
    listed = [[[ToolCall("click", {"ref": ref})]] for ref in (3, 2)]
    assert scored(ToolCall("click", {"ref": 3}), listed) == [1, 0]
    answer = [[[write(text)]] for text in ("Car red", "red bus", "bus", "")]
    assert scored(write("red car"), answer) == [1, 1, 0, 0]


def test_the_border_of_box_and_radius_is_outside():
    box = {"box": lambda task: (100, 40, 120, 60)}
    made = [[[click(*point)]] for point in ((100, 50), (120, 50), (110, 40), (101, 59), (100.5, 40.5))]
    assert scored(click(110, 50), made, radius=0, **box) == [0, 0, 0, 1, 1]
    made = [[[click(110 + 140, 50)]], [[click(110 + 139.9, 50)]], [[click(110, 50 - 100)]]]
    assert scored(click(110, 50), made) == [0, 1, 1]


def test_an_element_number_must_be_equal():
    refs = (1, 1.0, True, "1", None, 2, [1])
    made = [[[ToolCall("click", {"ref": ref})]] for ref in refs] + [[[click(1, 1)]], [[write("1")]], [[]]]
    assert scored(ToolCall("click", {"ref": 1}), made) == [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert scored(click(5, 5), [[[ToolCall("click", {"x": 5, "y": 5, "ref": 9})]]]) == [1]


def test_the_first_call_of_the_last_turn_with_a_call_counts():
    right, wrong = click(1, 1), click(900, 900)
    made = [[[right, wrong]], [[wrong, right]], [[right], [wrong]], [[wrong], [right]], [[right], []]]
    assert scored(right, made) == [1, 0, 0, 1, 1]


def test_other_actions_match_by_name():
    assert scored(ToolCall("back", {}), [[[ToolCall("back", {"x": "?"})]], [[click(1, 1)]]]) == [1, 0]


def test_invalid_points_score_zero():
    bad = [click("1", "1"), click(None, 1), click(True, True), click(float("nan"), 1), click(10**400, 1)]
    bad += [ToolCall("click", {}), ToolCall("click", {"x": 1}), click([1], 1), click("__import__('os')", 1)]
    assert scored(click(1, 1), [[[one]] for one in bad], box=lambda task: (0, 0, 1000, 1000)) == [0] * len(bad)


def test_action_match_equals_a_slow_loop():
    draw, right = random.Random(0), 0
    for _ in range(200):
        box = [draw.randint(0, 40), draw.randint(0, 40), draw.randint(50, 90), draw.randint(50, 90)]
        gold, answer = [draw.randint(0, 99) for _ in range(2)], [draw.randint(0, 99) for _ in range(2)]
        (found,) = scored(click(*gold), [[[click(*answer)]]], box=lambda task, box=box: box, radius=20)
        inside = box[0] < answer[0] < box[2] and box[1] < answer[1] < box[3]
        far = (answer[0] - gold[0]) ** 2 + (answer[1] - gold[1]) ** 2
        assert found == float(inside or far < 400)
        right += found
    assert 20 < right < 180
    words = ("a", "b", "c", "d")
    for _ in range(200):
        gold, answer = (draw.choices(words, k=draw.randint(1, 5)) for _ in range(2))
        shared = len([word for word in words if word in gold and word in answer])
        precision, recall = shared / len(set(answer)), shared / len(set(gold))
        f1 = 2 * precision * recall / (precision + recall) if shared else 0.0
        assert scored(write(" ".join(gold)), [[[write(" ".join(answer))]]]) == [float(f1 >= 0.5)]


def test_empty_rollouts_score_zero_and_bad_options_are_errors():
    silent = make_trajectory(layouts=["UUt"], task=make_task(answer=[click(1, 1)]))
    assert action_match()(make_group(task=silent.task, trajectories=[silent])).outcome.tolist() == [0]
    with pytest.raises(InputError, match="radius is 0 or more"):
        action_match(radius=-1)
    with pytest.raises(InputError, match="min_f1 above 0"):
        action_match(min_f1=0)
    with pytest.raises(TaskError, match="no numbers x and y"):
        scored(ToolCall("click", {}), [[[click(1, 1)]]])
    with pytest.raises(TaskError, match="nor ref"):
        scored(ToolCall("click", {"ref": "1"}), [[[click(1, 1)]]])
    with pytest.raises(TaskError, match="no reference action"):
        action_match(gold=lambda task: ())(make_group(trajectories=[make_trajectory(texts=["a"])]))
    for box in ((1, 2, 3), (0, 0, 1, float("inf"))):
        with pytest.raises(TaskError, match="left, low, right and high"):
            scored(click(1, 1), [[[click(1, 1)]]], box=lambda task, box=box: box)
