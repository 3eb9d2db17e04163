import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.papers.istar.right_against_wrong import right_against_wrong
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [{}, {"above": -0.2}]


def named(pairs):
    return [(pair.chosen.sample, pair.rejected.sample, pair.strength) for pair in pairs]


def group(count):
    return make_group(trajectories=[make_trajectory(layouts=["Utp"], sample=i, id=str(i)) for i in range(count)])


def test_every_correct_sibling_is_paired_with_every_wrong_one():
    found = right_against_wrong()([make_rated(group=group(4), outcome=[1, 0, 1, 0])])
    assert named(found) == [(0, 1, 1.0), (0, 3, 1.0), (2, 1, 1.0), (2, 3, 1.0)]


@pytest.mark.parametrize("outcome", [[1, 1, 1], [0, 0, 0], [1]])
def test_a_group_of_one_kind_has_no_pair(outcome):
    assert right_against_wrong()([make_rated(group=group(len(outcome)), outcome=outcome)]) == []


def test_right_against_wrong_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    batch = [make_rated(group=group(5), outcome=rng.random(5).tolist()) for _ in range(4)]
    wanted = []
    for one in batch:
        for i in range(5):
            for j in range(5):
                a, b = one.scores.outcome[i], one.scores.outcome[j]
                if a > 0.3 and not b > 0.3:
                    wanted.append((i, j, a - b))
    assert named(right_against_wrong(above=0.3)(batch)) == wanted and len(wanted) > 5


def test_turn_rewards_do_not_enter_pairs():
    turns = tuple(np.array([float(5 * i)]) for i in range(2))
    assert right_against_wrong()([make_rated(group=group(2), scores=Scores(np.zeros(2), turns))]) == []


def test_right_against_wrong_reads_a_channel():
    scores = Scores(np.array([0.2, 0.3]), channels={"correct": np.array([1.0, 0.0])})
    assert named(right_against_wrong(channel="correct")([make_rated(group=group(2), scores=scores)])) == [(0, 1, 1.0)]
    with pytest.raises(InputError, match="no channel 'other'; there are correct"):
        right_against_wrong(channel="other")([make_rated(group=group(2), scores=scores)])


def test_unscored_and_empty_siblings_are_in_no_pair_and_masked_ones_are():
    silent = make_trajectory(layouts=["Ut"], sample=3, id="3")
    members = make_group(trajectories=[*group(3), silent])
    scores = Scores(np.array([1.0, np.nan, 0.0, 1.0]))
    one = make_rated(group=members, scores=scores, trained=[False, True, True, True], advantage=[0, 0, 0, 0])
    assert named(right_against_wrong()([one])) == [(0, 2, 1.0)]
