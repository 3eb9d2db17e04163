from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stateful
from handaxe.core.records import Advantages, Branch
from handaxe.credit.gae import gae
from handaxe.credit.group_norm import group_norm
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.papers.thor.sibling_subset import forks, no_forks, sibling_subset, trunks_and_forks
from handaxe.testing.make_records import make_group, make_scores
from handaxe.testing.random_groups import random_group, random_scores


def above_zero(group, scores):
    return scores.outcome > 0


def eligible(group, scores):
    return np.ones(len(group), bool) if scores.eligible is None else scores.eligible


CONTRACT = [
    {"credit": group_norm(), "only": above_zero},
    {"credit": turn_norm(norm="index"), "only": eligible},
]
BIAS = [
    BiasCase(
        "sibling_subset(leave_one_out(), outcome > 0)",
        lambda: sibling_subset(leave_one_out(), lambda group, scores: scores.outcome > 0),
    )
]


def values(outcome, *, credit=None, only=above_zero, **more):
    group = make_group(size=len(outcome))
    said = sibling_subset(credit or group_norm(), only)(group, make_scores(outcome, **more))
    return [row[one.sequences[0].mask][0] for one, (row,) in zip(group, said.tokens)]


def test_sibling_subset_equals_the_worked_example():
    np.testing.assert_allclose(values([1, 0.5, 0.25, 0]), [1.0911, -0.2182, -0.8729, 0], atol=5e-5)


def test_subsets_of_one_none_and_equal_rewards_get_zero():
    assert values([1, 0, 0]) == [0, 0, 0]
    assert values([0, 0]) == [0, 0]
    assert values([0.5, 0.5, 0]) == [0, 0, 0]
    assert values([0.7, 0], credit=group_norm(lone="reward")) == [0.7, 0]


def test_unscored_siblings_count_in_no_statistic():
    assert values([1, np.nan, 3, -5], credit=group_norm(std=None)) == [-1, 0, 1, 0]
    everybody = values([1, np.nan, 3], credit=group_norm(std=None), only=lambda group, scores: np.ones(3, bool))
    assert everybody == [-1, 0, 1]


@pytest.mark.parametrize("seed", range(6))
def test_sibling_subset_equals_the_credit_of_a_smaller_group(seed):
    group = random_group(seed, size=5)
    scores = random_scores(group, seed)
    chosen = np.flatnonzero(scores.eligible)
    said = sibling_subset(group_norm(), eligible)(group, scores)
    part = make_group(trajectories=[group[i] for i in chosen])
    wanted = group_norm()(part, make_scores(scores.outcome[chosen], turns=[scores.turns[i] for i in chosen]))
    for i in range(5):
        if i in chosen:
            np.testing.assert_equal(said.tokens[i], wanted.tokens[list(chosen).index(i)])
        else:
            assert not any(row.any() for row in said.tokens[i])


def test_channels_are_restricted_to_the_subset():
    only = sibling_subset(group_norm(std=None, channel="speed"), above_zero)
    group = make_group(size=3)
    said = only(group, make_scores([1, 0, 1], channels={"speed": [1, 50, 3]}))
    assert [row[0].max() + row[0].min() for row in said.tokens] == [-1, 0, 1]


def test_siblings_outside_the_subset_stay_in_the_loss():
    def first_turn(group, scores):
        trains = tuple(tuple(sequence.turn == 0 for sequence in one.sequences) for one in group)
        return Advantages(group_norm()(group, scores).tokens, trains=trains)

    group = make_group(size=3)
    said = sibling_subset(first_turn, above_zero)(group, make_scores([1, 0, 2]))
    assert np.array_equal(said.trains[1][0], group[1].sequences[0].mask)
    assert np.array_equal(said.trains[0][0], group[0].sequences[0].turn == 0)


def test_sibling_subset_restores_state_and_refuses_bad_credits():
    class Counter:
        calls = 0

        def __call__(self, group, scores):
            self.calls += 1
            return group_norm()(group, scores)

        def state_dict(self):
            return {"calls": self.calls}

        def load_state_dict(self, state):
            self.calls = state["calls"]

    first, second = sibling_subset(Counter(), above_zero), sibling_subset(Counter(), above_zero)
    assert isinstance(first, Stateful)
    first(make_group(size=2), make_scores([1, 2]))
    second.load_state_dict(first.state_dict())
    assert second.state_dict() == {"credit": {"calls": 1}}
    assert sibling_subset(group_norm(), above_zero).state_dict() == {}
    with pytest.raises(InputError, match=r"float64 \(2,\) for 2 siblings"):
        values([1, 0], only=lambda group, scores: scores.outcome)
    with pytest.raises(InputError, match="for 2 siblings"):
        values([1, 0], only=lambda group, scores: np.array([True]))
    group = random_group(0, features=("value",))
    with pytest.raises(InputError, match="value targets"):
        sibling_subset(gae(), eligible)(group, random_scores(group, 0))


def test_trunks_and_forks_are_credited_separately():
    """Attempts earn 1 and 0; two forks of the second, from its fourth token on, 1 and 0."""
    made = make_group(layouts=["UpptTp"] * 4)
    branch = Branch(made[1].id, 0, 5)
    siblings = (*made.trajectories[:2], *(replace(one, branch_of=branch) for one in made.trajectories[2:]))
    group, scores = replace(made, trajectories=siblings), make_scores([1, 0, 1, 0])
    credit = group_norm(std="population")
    said = trunks_and_forks(credit, credit, weight=0.5)(group, scores)
    up, fork = np.array([0, 1, 1, 0, 0, 1]), np.array([0, 0, 0, 0, 0, 0.5])
    np.testing.assert_allclose([own[0] for own in said.tokens], [up, -up, fork, -fork], atol=1e-5)
    assert [np.flatnonzero(own[0]).tolist() for own in said.trains] == [[1, 2, 5], [1, 2, 5], [5], [5]]
    assert not forks(group, scores)[:2].any() and not no_forks(group, scores)[2:].any()
