from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.records import Scores
from handaxe.papers.auto_mc_reward.failure_causes import Cause, RolloutLog, failure_curves, rank_causes
from handaxe.testing.make_records import make_group, make_trajectory


def played(*door):
    """Rollout with a value of the number "door" after each turn."""
    made = make_trajectory(texts=["a"] * len(door))
    turns = [replace(turn, facts={"door": value}) for turn, value in zip(made.turns, door, strict=True)]
    return replace(made, turns=tuple(turns))


def test_failure_curves_match_their_example():
    curves = failure_curves([(played(1, 1), 0.0), (played(1, 1, 1), 0.0), (played(1, 0), 1.0)])
    assert curves["failure/door"] == (0.0, 1.0, -1.0)
    # numbers of all rollouts change alike: turns go from 0 to 2 in the solved one
    assert curves["failure/turn"] == (1.0, 1.0, 2.0)
    assert rank_causes(curves) == [Cause("door", 0.0, 1.0, -1.0)]


def test_failure_curves_need_failed_and_solved_rollouts():
    assert failure_curves([]) == failure_curves([(played(1, 0), 1.0)]) == failure_curves([(played(1, 0), 0.0)]) == {}


@given(st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.booleans()), min_size=1, max_size=6))
def test_failure_curves_equal_a_loop(rows):
    curves = failure_curves([(played(*door), float(solved)) for door, solved in rows])
    sides = {side: [door for door, solved in rows if solved is side] for side in (False, True)}
    if not sides[False] or not sides[True]:
        assert curves == {}
        return
    failed, solved, change = curves["failure/door"]
    assert failed == pytest.approx(sum(min(door) < max(door) for door in sides[False]) / len(sides[False]))
    assert solved == pytest.approx(sum(min(door) < max(door) for door in sides[True]) / len(sides[True]))
    assert change == pytest.approx(sum(door[-1] - door[0] for door in sides[True]) / len(sides[True]), abs=1e-9)


def test_rank_causes_sorts_by_the_difference_and_leaves_small_ones_out():
    curves = {
        "task": (0.5,),
        "failure/key": (0.5, 1.0, 1.0),
        "failure/box": (0.5, 1.0, 2.0),
        "failure/door": (0.0, 1.0, -2.0),
        "failure/facing": (0.0, 1.0, 0.0),
        "failure/at": (0.95, 1.0, 1.0),
    }
    assert [one.name for one in rank_causes(curves)] == ["door", "box", "key"]


def test_the_log_scores_as_the_task_and_keeps_rollouts():
    group = make_group(trajectories=[played(1, 0), played(1)])
    log = RolloutLog(lambda own: Scores(np.array([1.0, 0.0])))
    assert log(group).outcome.tolist() == [1.0, 0.0]
    assert log.rollouts == [(group[0], 1.0), (group[1], 0.0)]
