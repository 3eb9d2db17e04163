import math

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.ctrls.latent_actions import LatentStep
from handaxe.papers.ctrls.reinforce_transitions import reinforce_transitions, transition_loss

ALPHA = np.array([[2.0, 1.0], [1.0, 1.0], [1.5, 4.0]])


def loss(alpha, rows, actions, advantages, entropy):
    args = torch.tensor(rows), torch.tensor(actions, dtype=torch.float64), torch.tensor(advantages, dtype=torch.float64)
    return transition_loss(torch.tensor(np.log(alpha)), *args, entropy=entropy).item()


def test_transition_loss_by_hand():
    """Dir(2, 1) has the density 2 a_0: 1 at a_0 = 0.5 and 1.6 at a_0 = 0.8; Dir(1, 1) has the entropy 0."""
    assert loss(ALPHA, [0], [[0.5, 0.5]], [1.0], 0.0) == pytest.approx(0, abs=1e-9)
    found = loss(ALPHA, [0, 0], [[0.8, 0.2], [0.5, 0.5]], [2.0, 1.0], 0.0)
    assert found == pytest.approx(-math.log(1.6), abs=1e-9)
    assert loss(ALPHA, [1], [[0.3, 0.7]], [1.0], 0.5) == pytest.approx(0, abs=1e-9)


def test_transition_loss_matches_a_loop():
    rows, actions, advantages = [2, 0, 2], [[0.9, 0.1], [0.4, 0.6], [0.25, 0.75]], [0.5, -1.0, 0.25]
    total = 0.0
    for row, action, advantage in zip(rows, actions, advantages, strict=True):
        a, b = ALPHA[row]
        density = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        density += (a - 1) * math.log(action[0]) + (b - 1) * math.log(action[1])
        entropy = float(torch.distributions.Beta(torch.tensor(a), torch.tensor(b)).entropy())
        total -= (advantage * density + 0.3 * entropy) / 3
    assert loss(ALPHA, rows, actions, advantages, 0.3) == pytest.approx(total, abs=1e-6)


def step(row, action):
    return LatentStep(row, np.array(action), False, 0)


def test_reinforcement_raises_the_states_of_successful_actions_in_their_row_alone():
    found = reinforce_transitions(ALPHA, [([step(1, [0.9, 0.1])], 1.0), ([step(1, [0.1, 0.9])], -1.0)], entropy=0.0)
    assert found[1, 0] / found[1].sum() > 0.6
    assert found[[0, 2]] == pytest.approx(ALPHA[[0, 2]], abs=1e-9)


def test_entropy_keeps_actions_spread():
    rollouts = [([step(1, [0.9, 0.1])], 1.0), ([step(1, [0.1, 0.9])], -1.0)]
    plain = reinforce_transitions(ALPHA, rollouts, entropy=0.0, updates=30)
    spread = reinforce_transitions(ALPHA, rollouts, entropy=2.0, updates=30)
    assert np.abs(spread[1] - 1).max() < np.abs(plain[1] - 1).max()


def test_nothing_changes_without_an_advantage_and_an_action_of_0_is_finite():
    assert reinforce_transitions(ALPHA, [([step(0, [0.5, 0.5])], 0.0), ([], 1.0)]).tolist() == ALPHA.tolist()
    assert np.isfinite(reinforce_transitions(ALPHA, [([step(0, [1.0, 0.0])], 1.0)])).all()
    with pytest.raises(InputError, match="rate"):
        reinforce_transitions(ALPHA, [], rate=0.0)
