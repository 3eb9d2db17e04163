import json
import math
from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.box_overlap import box_overlap
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.clips.views import gold_window, last_window
from handaxe.worlds.clips.world import clips
from handaxe.worlds.screen.widgets import SIDES, gold_box, predicted_box
from handaxe.worlds.screen.world import screen

NEAR, GOLD, WHOLE = (100, 100, 200, 200), (110, 110, 210, 210), (0, 0, 1000, 500)


def found(trajectory):
    text = trajectory.final_text
    return json.loads(text) if text.startswith("[") else None


def rollout(box, gold):
    return make_trajectory(texts=[json.dumps(list(box))], task=make_task(answer=list(gold)))


def overlap(box, gold, measure, sides=None):
    reward = box_overlap(found=found, gold=lambda task: task.answer, measure=measure, sides=sides)
    return reward(make_group(trajectories=[rollout(box, gold)])).outcome[0]


CONTRACT = [
    {"found": found, "gold": lambda task: task.answer, "measure": measure, "sides": (1000, 500)}
    for measure in ("iou", "recall", "centre", "edges")
]


def screen_overlap(world, measure):
    del world
    return box_overlap(found=predicted_box, gold=gold_box, sides=SIDES, measure=measure)


LAB = [
    LabCase(
        'box_overlap(measure="iou")',
        partial(screen, answer="box", loose=0.3, told=True),
        partial(screen_overlap, measure="iou"),
    ),
    LabCase(
        'box_overlap(measure="recall")',
        partial(screen, answer="box", loose=0.3, told=True),
        partial(screen_overlap, measure="recall"),
    ),
    LabCase(
        'box_overlap(measure="centre")',
        partial(screen, answer="box", loose=0.3, told=True),
        partial(screen_overlap, measure="centre"),
    ),
    LabCase(
        'box_overlap(measure="recall"), of a look',
        partial(clips, loose=6),
        lambda world: box_overlap(found=last_window, gold=gold_window, measure="recall"),
        why="A viewed region pays, not the answer: add a correctness reward.",
    ),
]
SIBLINGS = make_group(trajectories=[rollout(box, GOLD) for box in (NEAR, GOLD, WHOLE, (600, 300, 700, 400))])


def test_box_overlap_matches_the_docstring_example():
    assert overlap(NEAR, GOLD, "iou") == pytest.approx(8100 / 11900, abs=1e-12)
    assert overlap(NEAR, GOLD, "centre") == 1
    assert overlap(NEAR, GOLD, "edges", (1000, 500)) == pytest.approx(0.9850, abs=5e-5)
    assert overlap((10, 30), (20, 40), "iou") == pytest.approx(1 / 3) and overlap((10, 30), (20, 40), "recall") == 0.5
    assert overlap((0, 100), (20, 40), "iou") == 0.2 and overlap((0, 100), (20, 40), "recall") == 1


def test_weighted_measures_equal_gui_g1():
    mixed = 1 + 0.25 * overlap(NEAR, GOLD, "iou") + 0.125 * overlap(NEAR, GOLD, "edges", (1000, 500))
    assert mixed == pytest.approx(1.2933, abs=5e-5)


def test_volumes_equal_counts_of_cells():
    """Integers in three dimensions: volumes are counts of cells."""
    random = np.random.default_rng(1)
    for _ in range(50):
        (low, wanted_low), (size, wanted_size) = random.integers(0, 4, (2, 3)), random.integers(1, 5, (2, 3))
        have, want = np.zeros((9, 9, 9), bool), np.zeros((9, 9, 9), bool)
        have[tuple(slice(a, a + n) for a, n in zip(low, size))] = True
        want[tuple(slice(a, a + n) for a, n in zip(wanted_low, wanted_size))] = True
        box = [*low.tolist(), *(low + size).tolist()]
        gold = [*wanted_low.tolist(), *(wanted_low + wanted_size).tolist()]
        iou, recall = (have & want).sum() / (have | want).sum(), (have & want).sum() / want.sum()
        assert overlap(box, gold, "iou") == pytest.approx(iou, abs=1e-12)
        assert overlap(gold, box, "iou") == pytest.approx(iou, abs=1e-12)
        assert overlap(box, gold, "recall") == pytest.approx(recall, abs=1e-12)
        assert overlap(box, gold, "iou") <= overlap(box, gold, "recall") + 1e-12


@pytest.mark.parametrize(
    "box",
    [
        (200, 200, 100, 100),
        (100, 100, 100, 200),
        (math.nan, 0, 1, 1),
        (0, 0, math.inf, 9),
        (1, 2),
        (1, 2, 3),
        (),
        (0, 0, 10**400, 9),
    ],
)
def test_an_invalid_box_scores_zero(box):
    for measure in ("iou", "recall", "centre", "edges"):
        assert overlap(box, GOLD, measure, (1000, 500)) == 0


def test_coordinates_near_the_largest_float_are_compared():
    for measure in ("iou", "edges"):
        assert overlap((0, 0, 10**299, 10**299), GOLD, measure, (1000, 500)) == 0


def test_the_whole_view_has_recall_one():
    assert overlap(WHOLE, GOLD, "recall") == 1 and overlap(WHOLE, GOLD, "iou") == pytest.approx(100 * 100 / 500_000)
    nothing = make_trajectory(texts=["no"], task=make_task(answer=list(GOLD)))
    reward = box_overlap(found=found, gold=lambda task: task.answer)
    assert reward(make_group(trajectories=[nothing])).outcome.tolist() == [0]


def test_edges_at_the_distance_of_a_side_score_zero():
    assert overlap((0, 0, 1000, 500), (0, 0, 1000, 1), "edges", (1000, 499)) == 0


def test_wrong_data_and_options_are_errors():
    with pytest.raises(TaskError, match="has the box"):
        overlap(NEAR, (3, 3, 1, 1), "iou")
    with pytest.raises(TaskError, match="has the box"):
        overlap((1, 2), (1, 2), "edges", (10, 10))
    with pytest.raises(InputError, match="edges are measured against positive"):
        overlap(NEAR, GOLD, "edges")
    with pytest.raises(InputError, match="give iou"):
        overlap(NEAR, GOLD, "dice")
