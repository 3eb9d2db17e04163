import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.underspecified_tasks.frozen_lakes import Lake, frozen_lake, success_share
from handaxe.papers.underspecified_tasks.train_tabular import (
    METHODS,
    _update_episode,
    _update_max,
    _update_sarsa,
    train_tabular,
)

WALK = [((0, 1, 0.0, 1, False), 2), ((1, 2, 1.0, 2, True), 0)]


def updated(update):
    value_SA = [[0.5] * 4, [0.2, 0.4, 0.6, 0.8], [0.0] * 4]
    update(value_SA, iter(WALK))
    return [value_SA[0][1], value_SA[1][2]]


def test_updates_equal_numbers_by_hand():
    last = 0.6 + 0.1 * (1 - 0.6)
    assert updated(_update_max) == pytest.approx([0.5 + 0.1 * (0.99 * 0.8 - 0.5), last], abs=1e-12)
    assert updated(_update_sarsa) == pytest.approx([0.5 + 0.1 * (0.99 * 0.6 - 0.5), last], abs=1e-12)
    assert updated(_update_episode) == pytest.approx([0.5 + 0.1 * (0.99 - 0.5), last], abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_a_corridor(method):
    steps = [[[(1.0, max(state - 1, 0))]] * 2 + [[(1.0, min(state + 1, 3))]] * 2 for state in range(4)]
    transition_SAS = np.zeros((4, 4, 4))
    for state, row in enumerate(steps):
        for action, [(chance, place)] in enumerate(row):
            transition_SAS[state, action, place] = chance
    end_S = np.array([False, False, False, True])
    lake = Lake(steps, transition_SAS, end_S, end_S, 20)
    policy_S = train_tabular(lake, method, steps=600, seed=1)
    assert success_share(lake, policy_S) == 1.0 and set(policy_S[:3]) <= {2, 3}
    assert (train_tabular(lake, method, steps=600, seed=1) == policy_S).all()


def test_unknown_method_raises():
    pytest.importorskip("gymnasium")
    with pytest.raises(InputError, match="training methods are"):
        train_tabular(frozen_lake(4, 100), "dqn", steps=1, seed=0)
