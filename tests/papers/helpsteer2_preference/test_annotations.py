import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.papers.helpsteer2_preference.annotations import annotated, preferences, quality, ratings, strength
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_trajectory

CONTRACT = []


def rollout(status):
    return make_trajectory(texts=["", "7"], calls=[["f"], []], replies=[[ToolReply("0-0", "f", "7", status)], []])


def rated(*values):
    group = make_group(size=len(values))
    return make_rated(group=group, scores=make_scores([0] * len(values), channels={"quality": values}))


def test_quality_by_hand():
    group = make_group(trajectories=[rollout("ok"), rollout("failed"), rollout("ok"), rollout("failed")])
    assert quality(group, np.array([1.0, 1.0, 0.0, 0.0])).tolist() == [4, 3, 1, 0]


def test_ratings_without_noise_are_the_quality_and_errors_differ_by_annotator():
    group = make_group(size=50)
    level_G = np.arange(50) % 5.0
    assert ratings(group, level_G, noise=0.0).tolist() == level_G.tolist()
    first, second = (ratings(group, level_G, noise=1.0, seed=seed) for seed in (1, 2))
    assert (first != second).any() and set(first) <= {0, 1, 2, 3, 4}
    assert ratings(group, level_G, noise=1.0, seed=1).tolist() == first.tolist()


@pytest.mark.parametrize("difference, m", [(0.4, 0), (-1.2, 1), (2.4, 2), (5, 3), (-9, 3), (0, 0)])
def test_strength_by_hand(difference, m):
    assert strength(difference) == m


def test_preferences_without_noise_equal_a_slow_loop():
    one = rated(4, 0, 3, 3)
    found = {(p.chosen.sample, p.rejected.sample, p.strength) for p in preferences(noise=0.0)([one])}
    wanted = set()
    values = [4, 0, 3, 3]
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if a > b:
                wanted.add((i, j, float(min(a - b, 3))))
    assert found == wanted


def test_noise_flips_weak_preferences_more_often_than_strong_ones():
    groups = [rated(4, 3, 0) for _ in range(200)]
    groups = [make_rated(group=make_group(size=3, step=n), scores=one.scores) for n, one in enumerate(groups)]
    pairs = preferences(noise=2.0)(groups)
    value = (4, 3, 0)

    def flipped(own):
        return np.mean([value[pair.chosen.sample] < value[pair.rejected.sample] for pair in own])

    weak, strong = ([p for p in pairs if p.strength == m] for m in (1, 3))
    assert flipped(weak) > flipped(strong) + 0.1


def test_at_most_the_number_of_pairs():
    assert len(preferences(noise=0.0, most=2)([rated(4, 3, 1, 0)])) == 2
    for options in ({"noise": -1.0}, {"noise": 1.0, "most": 0}):
        with pytest.raises(InputError, match="noise from 0"):
            preferences(**options)


def test_a_source_has_ratings_and_the_quality():
    group = make_group(trajectories=[rollout("ok"), rollout("failed")])
    source = annotated(lambda site: [make_rated(group=group, outcome=[1, 0])], noise=0.0)
    (one,) = source(None)
    assert one.scores.outcome.tolist() == [4, 0] and one.scores.channels["quality"].tolist() == [4, 0]
