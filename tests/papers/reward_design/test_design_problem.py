import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, random_mdp
from handaxe.papers.reward_design.design_problem import DesignProblem, far_constraints, horizon_informativeness

ARMS = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0)
TRUE = np.array([[1.0, 0.0]])


def test_informativeness_is_the_mean_shortfall_of_gaps():
    one = DesignProblem.of(ARMS, TRUE, limit=1.0, horizons=[1, 2])
    # The gap is 1, that of the reward 0.5 at both horizons: -(0.5 + 0.5) / 2.
    assert horizon_informativeness(one, np.array([[0.5, 0.0]])) == pytest.approx(-0.5, abs=1e-4)
    assert horizon_informativeness(one, np.array([[5.0, 0.0]])) == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_informativeness_equals_a_loop(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=4, actions=3, discount=0.8)
    reward_SA = rng.uniform(-1, 1, size=(4, 3))
    given_SA = rng.uniform(-1, 1, size=(4, 3))
    one = DesignProblem.of(mdp, reward_SA, limit=2.0, horizons=[1, 3])
    total = 0.0
    for near_KK in one.near:
        for state in range(4):
            worst = 0.0
            for action in range(3):
                if not one.target.optimal_SA[state, action]:
                    gap = sum(
                        near_KK[3 * state + action, 3 * s + a] * given_SA[s, a] for s in range(4) for a in range(3)
                    )
                    worst = max(worst, one.required_SA[state, action] - gap)
            total += worst
    assert horizon_informativeness(one, given_SA) == pytest.approx(-total / 8, abs=1e-9)


def test_constraints_have_a_row_for_each_action_outside_the_target():
    rows, limits = far_constraints(DesignProblem.of(ARMS, TRUE, limit=1.0), np.eye(2))
    assert rows.tolist() == [[-1, 1]] and limits == pytest.approx([-1], abs=1e-4)


def test_bad_limits_and_horizons_name_what_to_give():
    with pytest.raises(InputError, match="largest absolute reward"):
        DesignProblem.of(ARMS, TRUE, limit=0.5)
    with pytest.raises(InputError, match="one horizon"):
        DesignProblem.of(ARMS, TRUE, limit=1.0, horizons=[])
