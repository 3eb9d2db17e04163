import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall, ToolReply
from handaxe.papers.mle_dojo.competitions import best_position
from handaxe.papers.mle_dojo.score_progress import best_increases, score_progress, turn_scores
from handaxe.testing.make_records import make_group, make_trajectory


def rollout(turns, reset=None):
    """A rollout of turns, each with the scores of executions; None for a failed one."""
    log = []
    replies = []
    for number, scores in enumerate(turns):
        replies.append([])
        for place, score in enumerate(scores):
            call = f"c{number}-{place}"
            log.append({"call": call, "action": "execute", "position": score, "raw": score and 10 * score})
            replies[-1].append(ToolReply(call, "execute_code", "", "ok" if score is not None else "retry"))
    state = {"Dojo": {"log": log, "best_position": 0.25}}
    return make_trajectory(
        texts=[""] * len(turns),
        calls=[[ToolCall("execute_code", {}, reply.call_id) for reply in own] for own in replies],
        replies=replies,
        env={"state": state},
    )


CONTRACT = []  # reads the executions of competitions alone
LAB = "reads the executions of the world competitions alone; see the methods"
TURNS = [[0.5], [None], [], [0.25], [0.1, 0.75]]


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({}, [0.5, 0, 0, 0, 0.25]),
        ({"progress": False}, [0.5, 0, 0, 0.25, 0.75]),
        ({"mode": "raw"}, [5, 0, 0, 0, 2.5]),
        ({"mode": "raw", "progress": False}, [5, 0, 0, 2.5, 7.5]),
    ],
)
def test_turns_are_rewarded_by_hand(knobs, expected):
    one = rollout(TURNS)
    found = score_progress(**knobs)(make_group(trajectories=[one]))
    assert found.turns[0] == pytest.approx(expected, abs=1e-9) and found.outcome.tolist() == [0]


def test_scores_of_a_turn_are_its_best_execution():
    assert turn_scores(rollout(TURNS), "position") == [0.5, None, None, 0.25, 0.75]


def test_a_rollout_without_the_tool_has_no_score():
    one = make_trajectory(texts=["done"])
    assert turn_scores(one, "raw") == [None]
    assert best_position(one) == 0
    assert best_position(rollout(TURNS)) == 0.25


@given(st.lists(st.none() | st.floats(0, 1), max_size=8))
def test_increases_sum_to_the_best_score(scores):
    found = best_increases(scores)
    assert min(found, default=0.0) >= 0
    assert sum(found) == pytest.approx(max((one for one in scores if one is not None), default=0.0), abs=1e-9)


def test_another_mode_raises():
    with pytest.raises(InputError, match="mode is position or raw"):
        score_progress(mode="rank")
