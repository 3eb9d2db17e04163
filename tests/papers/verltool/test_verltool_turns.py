import numpy as np
import pytest
from helpers.methods import made

from handaxe.core.records import ToolReply
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

FAILED = ToolReply("0-0", "calculator", "division by zero", status="failed")


def rollouts():
    """A call that executes; a failed call and a retry; an answer without a call. Turns of two tokens."""
    clean = make_trajectory(texts=["", "5"], calls=[["calculator"], []], replies=[["5"], []])
    retried = make_trajectory(
        texts=["", "", "6"], calls=[["calculator"], ["calculator"], []], replies=[[FAILED], ["5"], []]
    )
    return make_group(trajectories=[clean, retried, make_trajectory(texts=["7"])])


def test_executions_earn_their_share_and_their_count():
    """0.3 * 1 + 0.05 * 1; 0.3 * 1 / 2 + 0.05 * 1; 0."""
    channels = made("verltool_turns").reward(rollouts()).channels
    assert np.allclose(channels["executed"], [0.35, 0.2, 0.0])


def test_the_advantage_of_executions_is_added_on_the_first_turn():
    """Outcomes 1, 0, 0: 1.1547, -0.5774, -0.5774 on all turns; executions 0.35, 0.2, 0 with mean 0.1833 and std 0.1756:
    0.9492, 0.0949, -1.0441 on the first turn."""
    scores = make_scores([1, 0, 0], channels={"outcome": [1, 0, 0], "executed": [0.35, 0.2, 0.0]})
    group = rollouts()
    advantages = made("verltool_turns").credit(group, scores)
    for one, tokens, outcome, first in zip(
        group, advantages.tokens, [1.1547, -0.5774, -0.5774], [0.9492, 0.0949, -1.0441]
    ):
        turns = [own[t.start : t.stop] for own, t in zip(tokens * len(one.turns), one.turns)]
        assert turns[0] == pytest.approx(outcome + first, abs=1e-4)
        assert all(later == pytest.approx(outcome, abs=1e-4) for later in turns[1:])


def test_a_coefficient_of_0_leaves_the_advantage_of_the_outcome():
    scores = make_scores([1, 0, 0], channels={"outcome": [1, 0, 0], "executed": [0.35, 0.2, 0.0]})
    group = rollouts()
    found = made("verltool_turns", "--coefficient", "0").credit(group, scores)
    expected = made("verltool").credit(group, make_scores([1, 0, 0]))
    for a, b in zip(found.tokens, expected.tokens, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
