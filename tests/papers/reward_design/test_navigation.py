import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import mean_return
from handaxe.papers.reward_design.navigation import chain, line_key, rooms


def test_rooms_have_four_doors_and_one_rewarded_action():
    task = rooms(slip=0.0)
    reached_SA = task.mdp.transition_SAZ.argmax(2)
    # Cells 0 to 2 are the first row of the first room; column 3 is a wall there, and row 1 has its door.
    assert reached_SA[0, 0] == 1
    assert reached_SA[2, 0] == 2 and reached_SA[2, 3] == 2 and reached_SA[0, 2] == 0
    assert task.reward_SA.sum() == 10 and task.reward_SA[39, 0] == 10 and reached_SA[39, 0] == 40
    assert reached_SA[40].tolist() == [40] * 4
    assert np.bincount(task.leaf_S[:-1]).tolist() == [9, 9, 9, 8, 1, 1, 1, 1, 1] and task.leaf_S[-1] == -1


def test_the_line_pays_with_the_key_alone():
    task = line_key(length=4, slip=0.0)
    reached_SA = task.mdp.transition_SAZ.argmax(2)
    assert reached_SA[:4].tolist() == [[0, 1, 0], [0, 2, 5], [1, 3, 2], [2, 8, 3]]
    assert reached_SA[4:8].tolist() == [[4, 5, 4], [4, 6, 5], [5, 7, 6], [6, 8, 7]]
    assert task.reward_SA[7, 1] == 10 and task.reward_SA.sum() == 10
    assert task.leaf_S.tolist() == [0, 2, 0, 1, 3, 3, 3, 4, -1]


def test_the_chain_pays_on_the_right_and_has_a_distractor_on_the_left():
    task = chain(right=2, left=8, slip=0.0, distractor=0.01)
    assert task.mdp.start_S[8] == 1 and task.reward_SA[10].tolist() == [0, 1] and task.reward_SA[5, 0] == 0.01
    right_SA = np.tile([0.0, 1.0], (12, 1))
    # Two moves, then 1 forever: 0.99^2 / (1 - 0.99).
    assert mean_return(task.mdp, right_SA, task.reward_SA) == pytest.approx(0.99**2 / 0.01)


def test_slips_move_at_random():
    task = line_key(slip=0.3)
    assert task.mdp.transition_SAZ[5, 0, [4, 5, 6]] == pytest.approx([0.8, 0.1, 0.1])


@pytest.mark.parametrize(
    "make", [lambda: rooms(size=6), lambda: rooms(slip=2.0), lambda: line_key(length=3), lambda: chain(left=3)]
)
def test_wrong_sizes_are_rejected(make):
    with pytest.raises(InputError, match="give"):
        make()
