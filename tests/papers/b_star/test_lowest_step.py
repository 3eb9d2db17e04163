import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.judges.exact_steps import exact_steps
from handaxe.papers.b_star.lowest_step import lowest_step
from handaxe.testing.make_records import make_group, make_trajectory

SCORES = {"a": 0.9, "b": -0.4, "c": 1.0}
LAB = "the score of a judge of steps; see the methods"


def judge():
    return exact_steps(verdicts=lambda one: np.array([SCORES.get(turn.parsed.text, 0.5) for turn in one.turns]))


CONTRACT = [{"judge": judge()}]
SIBLINGS = make_group(trajectories=[make_trajectory(texts=texts) for texts in (["a", "b"], ["c"], ["d"])])


def test_lowest_step_is_the_minimum_over_turns():
    group = make_group(trajectories=[make_trajectory(texts=["a", "b", "c"]), make_trajectory(texts=["c"])])
    scores = lowest_step(judge=judge())(group)
    assert scores.outcome.tolist() == [-0.4, 1.0] and scores.turns is None


def test_lowest_step_needs_a_judge_of_steps():
    with pytest.raises(InputError, match="score_steps"):
        lowest_step(judge=object())
