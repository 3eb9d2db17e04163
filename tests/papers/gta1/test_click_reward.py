import random
from math import sqrt

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall
from handaxe.papers.gta1.click_reward import click_reward
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = "scores by the metadata of the task, or passes another reward on; see the methods"

TASK = make_task(metadata={"boxes": [[10, 10, 20, 20]]})
CONTRACT = [{"boxes": lambda task: [(0, 0, 1, 1)]}, {"boxes": lambda task: [(0, 0, 1, 1)], "sides": (4, 4)}]

SIBLINGS = make_group(
    task=TASK,
    trajectories=[
        make_trajectory(texts=[""], calls=[[ToolCall("click", {"x": x, "y": 0})]], replies=[[]], task=TASK, id=str(x))
        for x in (0, 9)
    ],
)


def boxes(task):
    return task.metadata["boxes"]


def scored(reward, *calls, task=TASK):
    made = [make_trajectory(texts=[""], calls=[[call] if call else []], replies=[[]], task=task) for call in calls]
    return reward(make_group(task=task, trajectories=made)).outcome.tolist()


def click(x, y):
    return ToolCall("click", {"x": x, "y": y})


def test_click_reward_equals_the_example_of_the_paper():
    assert scored(click_reward(boxes=boxes), click(15, 20), click(21, 15)) == [1, 0]
    assert scored(click_reward(boxes=boxes, sides=(30, 40)), click(15, 20)) == pytest.approx([0.9])


def test_click_reward_equals_a_loop_over_boxes():
    rng = random.Random(0)
    for _ in range(50):
        task = make_task(metadata={"boxes": [_box(rng) for _ in range(rng.randint(1, 3))]})
        x, y = rng.randint(0, 12), rng.randint(0, 12)
        hit, near = 0.0, 0.0
        for left, top, right, bottom in boxes(task):
            if not (x < left or x > right or y < top or y > bottom):
                hit = 1.0
            away = sqrt((x - (left + right) / 2) ** 2 + (y - (top + bottom) / 2) ** 2)
            near = max(near, 1 - away / sqrt(3**2 + 4**2))
        assert scored(click_reward(boxes=boxes), click(x, y), task=task) == [hit]
        assert scored(click_reward(boxes=boxes, sides=(3, 4)), click(x, y), task=task) == pytest.approx(
            [near], abs=1e-6
        )


def _box(rng):
    left, top = rng.randint(0, 6), rng.randint(0, 6)
    return [left, top, left + rng.randint(1, 5), top + rng.randint(1, 5)]


def test_other_calls_and_points_earn_nothing():
    reward = click_reward(boxes=boxes)
    others = [None, ToolCall("scroll", {"x": 15, "y": 15}), click("15", 15), click(float("nan"), 15), click(True, 15)]
    assert scored(reward, *others) == [0] * 5


def test_invalid_boxes_and_sides_raise():
    for wrong in ((), (1,), (0, 4)):
        with pytest.raises(InputError, match="width and height"):
            click_reward(boxes=boxes, sides=wrong)
    for wrong in ([], [[1, 2, 3]], [[1, 2, 3, float("inf")]]):
        with pytest.raises(TaskError, match="give left, top, right and bottom"):
            scored(click_reward(boxes=boxes), click(1, 1), task=make_task(metadata={"boxes": wrong}))
