import numpy as np
import pytest

from handaxe.core.errors import TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.chartmaster.chart_code import chart_code, picture_similarity
from handaxe.papers.chartmaster.image_similarity import image_similarity
from handaxe.papers.chartmaster.random_pyramid import random_pyramid
from handaxe.testing.make_records import make_group, make_task, make_trajectory

PICTURES = np.random.default_rng(0).random((3, 16, 16, 3))
KNOBS = {
    "rendered": lambda one: PICTURES[len(one.turns) - 1] if one.turns else None,
    "gold": lambda task: PICTURES[0],
}
CONTRACT = [KNOBS]
LAB = [
    LabCase("image_similarity(...)", chart_code, lambda world: picture_similarity()),
]


def scored(drawn, gold, **knobs):
    group = make_group(trajectories=[make_trajectory(texts=["x"])])
    return image_similarity(rendered=lambda one: drawn, gold=lambda task: gold, **knobs)(group).outcome.tolist()[0]


def flat(*values):
    return np.array(values, dtype=float)


def itself(image):
    return [image]


def test_image_similarity_matches_its_example():
    gold = flat(1, 0)
    assert scored(flat(3, 0), gold, features=itself) == pytest.approx(1)
    assert scored(flat(1, 1), gold, features=itself) == pytest.approx(0.7071, abs=1e-4)
    assert scored(flat(0, 2), gold, features=itself) == 0


def test_image_similarity_matches_a_slow_loop():
    for drawn in PICTURES:
        cosines = []
        for a, b in zip(random_pyramid()(drawn), random_pyramid()(PICTURES[0])):
            top = sum(float(x) * float(y) for x, y in zip(a.ravel(), b.ravel()))
            cosines.append(top / np.sqrt(sum(float(x) ** 2 for x in a.ravel()) * sum(float(x) ** 2 for x in b.ravel())))
        assert scored(drawn, PICTURES[0]) == pytest.approx(sum(cosines) / len(cosines))


def test_equal_images_earn_1_and_the_reward_is_symmetric():
    assert scored(PICTURES[1], PICTURES[1]) == pytest.approx(1)
    assert scored(PICTURES[1], PICTURES[2]) == pytest.approx(scored(PICTURES[2], PICTURES[1]))


@pytest.mark.parametrize(
    ("drawn", "worth"),
    [(None, 0), (flat(1, 2, 3), 0), (flat(np.nan, 1), 0), (flat(0, 0), 0), (flat(-1, 0), 0)],
)
def test_a_missing_image_or_one_of_another_size_earns_0(drawn, worth):
    assert scored(drawn, flat(1, 0), features=itself) == worth


def test_two_empty_images_are_equal():
    assert scored(flat(0, 0), flat(0, 0), features=itself) == 1


def test_a_reference_image_that_is_not_finite_is_rejected():
    with pytest.raises(TaskError, match="not finite"):
        scored(flat(1, 0), flat(np.inf, 0))


def test_a_trajectory_without_turns_earns_0():
    silent = make_trajectory(layouts=["UUt"], texts=[], task=make_task())
    assert image_similarity(**KNOBS)(make_group(trajectories=[silent])).outcome.tolist() == [0]
