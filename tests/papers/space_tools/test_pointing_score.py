from math import exp, sqrt

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.space_tools.pointing_score import pointing_score
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = "scores by the metadata of the task, or passes another reward on; see the methods"


def no_box(task):
    return 0.0, 0.0, 0.0, 0.0


CONTRACT = [
    {
        "found": lambda one: (0.1 * len(one.turns), 0.2),
        "centre": lambda task: (0.5, 0.5),
        "box": lambda task: (0, 0, 0.1, 0.3),
        "side": 1.0,
    }
]


def scored(points, *, centre=(0.0, 0.0), box=no_box, side=1.0):
    task = make_task()
    group = make_group(task=task, trajectories=[make_trajectory(texts=[str(k)], task=task) for k in range(len(points))])
    found = iter(points)
    reward = pointing_score(found=lambda one: next(found), centre=lambda task: centre, box=box, side=side)
    return reward(group).outcome.tolist()


def test_pointing_score_equals_the_worked_example():
    """The paper's formula at d = 0, .1, .5 and sqrt 2: 1, .606, .081, 0."""
    got = scored([(0, 0), (0.1, 0), (0, 0.5), (1, 1)])
    assert got == pytest.approx([1, 0.606, 0.081, 0], abs=5e-4)


def test_pointing_score_equals_its_formula_in_pixels():
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 256, (20, 2))
    slow = []
    for x, y in points:
        distance = sqrt((x - 96) ** 2 + (y - 160) ** 2) / 256
        far = exp(-5 * sqrt(2))
        inside = 68 <= x < 124 and 132 <= y < 188
        slow.append(1.0 if inside else max(0.0, (exp(-5 * distance) - far) / (1 - far)))
    got = scored([tuple(one) for one in points], centre=(96, 160), box=lambda task: (68, 132, 124, 188), side=256)
    assert got == pytest.approx(slow, abs=1e-6) and 0 < min(slow) < max(slow) <= 1


def test_points_inside_the_box_earn_1_and_missing_or_far_points_0():
    box = (0.4, 0.4, 0.6, 0.6)
    assert scored([(0.4, 0.59), (0.6, 0.5), None, (9, 9)], centre=(0.5, 0.5), box=lambda task: box) == pytest.approx(
        [1, (exp(-0.5) - exp(-5 * sqrt(2))) / (1 - exp(-5 * sqrt(2))), 0, 0]
    )


def test_a_side_of_0_raises():
    with pytest.raises(InputError, match="positive length"):
        pointing_score(found=lambda one: None, centre=no_box, box=no_box, side=0)
