import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.lhf.dark_room import DarkRoom, collect_histories
from handaxe.papers.lhf.distillation import context_returns, distill, draw_contexts

ROOM = DarkRoom(size=3, horizon=4)


@pytest.fixture(scope="module")
def histories():
    rng = np.random.default_rng(0)
    return collect_histories(ROOM, np.array([1, 3, 5, 7]), np.zeros(4), episodes=12, rng=rng)


def test_contexts_have_every_kth_episode_of_one_history(histories):
    cells, actions, rewards = draw_contexts(histories, batch=20, episodes=4, rng=np.random.default_rng(1))
    assert cells.shape == actions.shape == rewards.shape == (20, 16)
    whole = [
        np.concatenate([histories.action_NET[n, first + 3 * e] for e in range(4)]).tolist()
        for n in range(4)
        for first in range(3)
    ]
    assert all(one.tolist() in whole for one in actions)
    with pytest.raises(InputError, match="1 to 12"):
        draw_contexts(histories, batch=1, episodes=13, rng=np.random.default_rng(1))


def test_a_policy_that_moves_up_earns_the_reward_of_the_upper_goal():
    def up(cell, action, reward):
        """Always move up: from the middle of 3 x 3 to cell 1, then against the wall."""
        logits = torch.full((*cell.shape, 5), -50.0)
        logits[..., 1] = 50.0
        return logits

    found = context_returns(ROOM, up, np.array([1, 7]), episodes=3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(found, [[4, 4, 4], [0, 0, 0]])


def test_a_policy_sees_cells_actions_and_rewards_of_earlier_steps_only():
    seen = []

    def watch(cell, action, reward):
        seen.append((cell[0].tolist(), action[0].tolist(), reward[0].tolist()))
        return torch.zeros((*cell.shape, 5))

    context_returns(ROOM, watch, np.array([1]), episodes=2, rng=np.random.default_rng(3))
    assert [len(one[0]) for one in seen] == list(range(1, 9))
    assert all(one[1][-1] == 0 and one[2][-1] == 0 for one in seen)
    assert seen[4][0][4] == ROOM.start
    for before, after in zip(seen, seen[1:]):
        assert after[0][: len(before[0])] == before[0]


def test_training_lowers_the_loss_and_depends_on_the_seed(histories):
    few = distill(ROOM, histories, steps=2, seed=0, episodes=3, batch=16)[1]
    model, many = distill(ROOM, histories, steps=60, seed=0, episodes=3, batch=16)
    again = distill(ROOM, histories, steps=2, seed=0, episodes=3, batch=16)[1]
    assert many < few - 0.05 and few == again
    assert context_returns(ROOM, model, np.array([1, 3]), episodes=3, rng=np.random.default_rng(0)).shape == (2, 3)
