import numpy as np
import pytest

from handaxe.ops.finite_mdp import mean_return, optimal_action_values, softmax_policy
from handaxe.papers.barfi.blended_training import BilevelBudget, blended_training, fixed_training
from handaxe.papers.barfi.grid_task import grid_task


def make(heuristic="misleading", seed=1):
    return grid_task(np.random.default_rng(seed), heuristic=heuristic, size=3)


def test_before_the_first_outer_update_the_blend_is_the_plain_sum():
    task = make()
    found, blend = blended_training(task, BilevelBudget(updates=6, inner=7))
    summed = fixed_training(task, task.primary_SA + task.auxiliary_SA, BilevelBudget(updates=6))
    np.testing.assert_allclose(found, summed, atol=1e-9)
    assert blend.discount == pytest.approx(0.95) and not blend.free_SA.any()
    assert (blend.primary_S == 1).all() and (blend.auxiliary_S == 1).all()


def test_the_first_update_of_a_fixed_reward_matches_finite_differences():
    task = make()
    budget = BilevelBudget(updates=1, rate=2.0, entropy=0.0)
    even = np.full(task.primary_SA.shape, 0.25)
    logits = np.zeros_like(even)
    for place in np.ndindex(logits.shape):
        step = np.zeros_like(even)
        step[place] = 1e-5
        ends = [
            mean_return(task.mdp, softmax_policy(sign * step, temperature=1.0), task.primary_SA) for sign in (1, -1)
        ]
        logits[place] = 2.0 * (ends[0] - ends[1]) / 2e-5
    wanted = mean_return(task.mdp, softmax_policy(logits, temperature=1.0), task.primary_SA)
    assert fixed_training(task, task.primary_SA, budget)[0] == pytest.approx(wanted, abs=1e-6)


def test_potential_shaping_changes_no_exact_policy_gradient():
    task = make("helpful")
    plain, shaped = (fixed_training(task, one, BilevelBudget(updates=5)) for one in (task.primary_SA, task.shaped_SA))
    np.testing.assert_allclose(plain, shaped, atol=1e-9)


def test_a_learned_blend_leaves_the_decoy_that_the_plain_sum_stays_at():
    task = make()
    best = mean_return(task.mdp, softmax_policy(optimal_action_values(task.mdp, task.primary_SA)), task.primary_SA)
    summed = fixed_training(task, task.primary_SA + task.auxiliary_SA, BilevelBudget(updates=60))
    learned, blend = blended_training(task, BilevelBudget(updates=60, inner=5))
    assert summed[-1] < 0.5 * best < 0.8 * best < learned[-1]
    assert blend.discount < 0.95
