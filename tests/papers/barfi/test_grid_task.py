import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import mean_return, optimal_action_values, softmax_policy
from handaxe.papers.barfi.grid_task import grid_task


def make(seed=0, **options):
    return grid_task(np.random.default_rng(seed), **{"heuristic": "misleading", **options})


def test_a_grid_of_four_cells_matches_the_numbers_worked_by_hand():
    """Without slips, a move from a neighbour into the goal has probability 1, and every other move has 0."""
    task = make(size=2, slip=0.0)
    row, column = divmod(task.goal, 2)
    beside = row * 2 + (1 - column)
    move = 0 if column == 1 else 2
    wanted = np.zeros((4, 4))
    wanted[beside, move] = 1.0
    wanted[(1 - row) * 2 + column, 1 if row == 1 else 3] = 1.0
    np.testing.assert_array_equal(task.primary_SA, wanted)
    assert (task.mdp.transition_SAZ[task.goal, :, task.goal] == 1).all()
    helpful = make(size=2, slip=0.0, heuristic="helpful")
    corner = 3 - task.goal
    assert sorted(helpful.auxiliary_SA[corner].tolist()) == pytest.approx([-0.2, -0.2, -0.1, -0.1])
    # discount h(next) - h(cell) at the corner: .95 * -.1 + .2 = .105 towards the goal, .95 * -.2 + .2 = .01 else
    shaping = (helpful.shaped_SA - helpful.primary_SA)[corner]
    assert sorted(shaping.tolist()) == pytest.approx([0.01, 0.01, 0.105, 0.105])


def test_slips_replace_the_move_evenly():
    task = make(size=3, slip=0.4)
    centre = 4
    if centre != task.goal:
        assert sorted(task.mdp.transition_SAZ[centre, 0]) == pytest.approx([0, 0, 0, 0, 0, 0.1, 0.1, 0.1, 0.7])


@pytest.mark.parametrize("seed", range(5))
def test_the_plain_sum_pays_for_the_decoy_and_potentials_keep_the_optimal_policy(seed):
    task = make(seed)
    best = mean_return(task.mdp, softmax_policy(optimal_action_values(task.mdp, task.primary_SA)), task.primary_SA)
    for reward_SA, harmed in ((task.primary_SA + task.auxiliary_SA, True), (task.shaped_SA, False)):
        policy_SA = softmax_policy(optimal_action_values(task.mdp, reward_SA))
        found = mean_return(task.mdp, policy_SA, task.primary_SA)
        assert (found < 0.5 * best) == harmed
        assert harmed or found == pytest.approx(best, abs=1e-6)


def test_invalid_arguments_are_rejected():
    for wrong in ({"heuristic": "other"}, {"size": 1}, {"slip": 2.0}):
        with pytest.raises(InputError, match="give"):
            make(**wrong)
