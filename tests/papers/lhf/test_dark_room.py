import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.lhf.dark_room import DarkRoom, collect_histories

ROOM = DarkRoom(size=3, horizon=5)


def histories(goals, noise, seed=0, episodes=40):
    rng = np.random.default_rng(seed)
    return collect_histories(ROOM, np.array(goals), np.array(noise), episodes=episodes, rng=rng)


def test_moves_stop_at_the_walls():
    cell_N = np.array([4, 0, 8, 2, 4])
    after_N, reward_N = ROOM.step(cell_N, np.array([1, 3, 2, 4, 0]), np.array([1, 0, 0, 2, 5]))
    assert after_N.tolist() == [1, 0, 8, 2, 4]
    assert reward_N.tolist() == [1, 1, 0, 1, 0]


def test_goals_are_all_cells_but_the_start():
    assert ROOM.start == 4 and ROOM.goals.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]


def test_a_source_without_noise_learns_the_shortest_path():
    found = histories([1, 5, 0, 8] * 3, [0.0] * 12, episodes=80)
    distance_N = np.array([1, 1, 2, 2] * 3)
    np.testing.assert_array_equal(found.return_NE[:, -1], ROOM.horizon - distance_N + 1)


def test_noisy_histories_stay_below_clean_ones():
    found = histories([1, 0] * 20, [0.0, 0.0, 0.9, 0.9] * 10)
    late_N = found.return_NE[:, -8:].mean(axis=1)
    assert late_N[found.noise_N == 0].mean() > late_N[found.noise_N > 0].mean() + 1


def test_records_replay_in_the_room():
    found = histories([0, 7], [0.2, 1.0])
    for n, goal in enumerate(found.goal_N):
        assert (found.cell_NET[n, :, 0] == ROOM.start).all()
        for t in range(ROOM.horizon):
            after_E, reward_E = ROOM.step(found.cell_NET[n, :, t], found.action_NET[n, :, t], np.full(40, goal))
            np.testing.assert_array_equal(reward_E, found.reward_NET[n, :, t])
            if t + 1 < ROOM.horizon:
                np.testing.assert_array_equal(after_E, found.cell_NET[n, :, t + 1])


def test_taken_histories_may_repeat():
    found = histories([0, 7], [0.2, 1.0]).take(np.array([1, 1, 0]))
    assert found.goal_N.tolist() == [7, 7, 0] and found.noise_N.tolist() == [1, 1, 0.2]
    np.testing.assert_array_equal(found.return_NE[0], found.return_NE[1])


@pytest.mark.parametrize("goals, noise, episodes", [([0], [0.0], 1), ([0], [1.5], 4), ([9], [0.0], 4)])
def test_bad_input_is_an_input_error(goals, noise, episodes):
    with pytest.raises(InputError, match="collect_histories"):
        histories(goals, noise, episodes=episodes)
