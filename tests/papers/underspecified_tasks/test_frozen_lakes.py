import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.underspecified_tasks.frozen_lakes import ACTIONS, frozen_lake, success_share

pytest.importorskip("gymnasium")

DOWN = 1
RIGHT = 2


def test_a_path_without_slips_reaches_the_goal():
    lake = frozen_lake(4, 100)
    path = {0: DOWN, 4: DOWN, 8: RIGHT, 9: RIGHT, 10: DOWN, 14: RIGHT}  # SFFF FHFH FFFH HFFG
    policy_S = np.array([path.get(state, 0) for state in range(16)])
    assert success_share(lake, policy_S) == pytest.approx(1.0, abs=1e-12)
    assert success_share(lake, np.zeros(16, dtype=int)) == 0.0  # left, against the wall


def test_success_share_equals_simulated_episodes():
    lake = frozen_lake(4, 67)
    rng = np.random.default_rng(900)
    policy_S = rng.integers(ACTIONS, size=16)
    policy_S[[0, 4, 8, 9, 10, 14]] = [DOWN, DOWN, RIGHT, DOWN, DOWN, RIGHT]
    wins = 0
    for _ in range(600):
        state = 0
        for _ in range(lake.steps):
            if lake.final_S[state]:
                break
            state = int(rng.choice(16, p=lake.transition_SAS[state, policy_S[state]]))
        wins += bool(lake.goal_S[state])
    assert success_share(lake, policy_S) == pytest.approx(wins / 600, abs=0.08) and wins > 30


@pytest.mark.parametrize("size, chosen, share", [(4, 100, 1.0), (6, 67, 0.67), (8, 33, 0.33)])
def test_transitions_are_distributions_with_the_chance_of_the_chosen_direction(size, chosen, share):
    lake = frozen_lake(size, chosen)
    np.testing.assert_allclose(lake.transition_SAS.sum(axis=2), 1.0, atol=1e-9)
    assert lake.transition_SAS[0, RIGHT, 1] == pytest.approx(share, abs=1e-9)
    assert lake.goal_S.sum() == 1 and lake.final_S[lake.goal_S].all() and not lake.final_S[0]
    assert lake.steps == (100 if size == 4 else 200)


@pytest.mark.parametrize("size, chosen", [(1, 50), (17, 50), (4, 0), (4, 101)])
def test_parameters_out_of_range_raise(size, chosen):
    with pytest.raises(InputError, match="size of 2 to 16"):
        frozen_lake(size, chosen)
