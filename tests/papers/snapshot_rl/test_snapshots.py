import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.snapshot_rl.snapshots import best_snapshots
from handaxe.testing.make_records import make_trajectory


def episode(n, turns):
    return make_trajectory(layouts=["U" + "t p T" * turns], id=f"e{n}")


def test_best_snapshots_equals_the_worked_example():
    episodes = [episode(0, 3), episode(1, 2), episode(2, 2)]
    found = best_snapshots(episodes, np.array([1.0, 0.0, 1.0]), best=2, gamma=0.5)
    assert [(one.trajectory.id, one.turn, one.value) for one in found] == [
        ("e0", 0, 0.25), ("e0", 1, 0.5), ("e0", 2, 1.0), ("e2", 0, 0.5), ("e2", 1, 1.0),
    ]  # fmt: skip


def test_best_snapshots_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    episodes = [episode(n, int(rng.integers(1, 6))) for n in range(20)]
    reward_N = rng.integers(0, 3, 20) / 2
    found = iter(best_snapshots(episodes, reward_N, best=7, gamma=0.9))
    left = list(range(20))
    for _ in range(7):
        top = max(left, key=lambda n: (reward_N[n], -n))
        left.remove(top)
        value = reward_N[top]
        expected = []
        for turn in reversed(range(len(episodes[top].turns))):
            expected.insert(0, (turn, value))
            value *= 0.9
        for turn, value in expected:
            one = next(found)
            assert (one.trajectory.id, one.turn) == (f"e{top}", turn) and one.value == pytest.approx(value, abs=1e-12)
    assert next(found, None) is None


def test_unscored_episodes_give_no_snapshot():
    found = best_snapshots([episode(0, 2), episode(1, 1)], np.array([np.nan, 0.0]), best=2)
    assert [one.trajectory.id for one in found] == ["e1"]
    with pytest.raises(InputError, match="no episode of the teacher"):
        best_snapshots([episode(0, 2)], np.array([np.nan]), best=1)


@pytest.mark.parametrize("changed", [{"best": 0}, {"gamma": 0.0}, {"gamma": 1.5}, {"reward_N": np.zeros(2)}])
def test_best_snapshots_refuses_numbers_out_of_range(changed):
    with pytest.raises(InputError, match="give a reward per episode"):
        best_snapshots([episode(0, 2)], **{"reward_N": np.ones(1), "best": 1, **changed})
