from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.papers.ctrls.latent_actions import LatentActions, draw_action
from handaxe.papers.ctrls.spectral_steps import StepStates
from handaxe.testing.make_records import make_trajectory

ALPHA = np.array([[1.0, 3.0], [2.0, 2.0], [9.0, 1.0]])


class Given(StepStates):
    """The states of a rollout are given by its texts."""

    def __init__(self):
        super().__init__(states=2)

    def states(self, one):
        return np.array([int(turn.parsed.text) for turn in one.turns], np.int64)


def test_epsilon_01_of_4_states_keeps_the_greedy_state_in_0925_of_the_actions():
    """0.9 + 0.1 / 4 = 0.925; 20,000 draws have a standard error of 0.0019."""
    rng = np.random.default_rng(0)
    kept = [draw_action(np.array([1.0, 5.0, 1.0, 1.0]), epsilon=0.1, rng=rng)[0].argmax() == 1 for _ in range(20_000)]
    assert np.mean(kept) == pytest.approx(0.925, abs=0.006)


def test_draw_action_without_exploration_is_the_mean_or_a_draw_of_the_policy():
    rng = np.random.default_rng(1)
    action_K, explored = draw_action(np.array([1.0, 3.0]), epsilon=0.0, rng=rng)
    assert action_K.tolist() == [0.25, 0.75] and not explored
    drawn = np.stack([draw_action(np.array([1.0, 3.0]), epsilon=0.0, rng=rng, sample=True)[0] for _ in range(4000)])
    assert drawn.mean(axis=0) == pytest.approx([0.25, 0.75], abs=0.01)
    assert draw_action(np.array([1.0, 3.0]), epsilon=1.0, rng=rng)[1]


@pytest.mark.parametrize("epsilon, alpha", [(-0.1, [1.0, 1.0]), (1.5, [1.0, 1.0]), (0.5, [0.0, 1.0])])
def test_draw_action_rejects_numbers_out_of_range(epsilon, alpha):
    with pytest.raises(InputError, match="epsilon"):
        draw_action(np.array(alpha), epsilon=epsilon, rng=np.random.default_rng(0))


def test_scores_are_probabilities_of_the_state_in_the_row_of_the_state_before():
    """First turn: row 2, 0.9 of state 0; state 1 after 0: 0.75; state 0 after 1: 0.5."""
    one = make_trajectory(texts=["0", "1", "0"])
    (score_N,) = LatentActions(Given(), ALPHA).score_steps(Group(one.task, (one,)))
    assert score_N == pytest.approx([0.9, 0.75, 0.5], abs=1e-9)


def test_candidates_of_a_turn_share_an_action_and_other_seeds_have_other_actions():
    judge = LatentActions(Given(), ALPHA, epsilon=0.5, sample=True)
    first = make_trajectory(texts=["0", "1"])
    other = make_trajectory(texts=["0", "0", "1"])
    own = judge.steps(first)
    assert [step.action_K.tolist() for step in judge.steps(other)[:2]] == [step.action_K.tolist() for step in own]
    assert own[0].action_K.tolist() != judge.steps(replace(first, seed=first.seed + 1))[0].action_K.tolist()
    assert [(step.row, step.state) for step in own] == [(2, 0), (0, 1)]
    assert [step.explored for step in LatentActions(Given(), ALPHA, epsilon=1.0).steps(first)] == [True, True]


def test_concentrations_have_a_row_more_than_states():
    with pytest.raises(InputError, match="a row more"):
        LatentActions(Given(), ALPHA[:2])
