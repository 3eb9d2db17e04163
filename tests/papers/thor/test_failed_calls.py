from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, ParsedTurn, ToolCall, ToolReply
from handaxe.papers.thor.failed_calls import failed_calls
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.testing.make_records import make_trajectory

BAD = ToolReply("0-0", "f", "no", "retry")


def trunk(*turns):
    """Turns of ten tokens each, of [(status, start) a call] or of an error; in one sequence, from token 1 on."""
    replies, calls = [], []
    for k, turn in enumerate(turns):
        made = [] if isinstance(turn, str) else turn
        calls.append([ToolCall("f", {}, f"{k}-{j}") for j in range(len(made))])
        replies.append([ToolReply(f"{k}-{j}", "f", "", status) for j, (status, _) in enumerate(made)])
    errors = [[turn] if isinstance(turn, str) else [] for turn in turns]
    layout = "U" + " t ".join("p" * 10 for _ in turns)
    one = make_trajectory(
        layouts=[layout], texts=[""] * len(turns), calls=calls, replies=replies, errors=errors, id="t"
    )

    def spanned(turn, made):
        spans = () if isinstance(made, str) else tuple((start, start + 2) for _, start in made)
        return replace(turn, parsed=replace(turn.parsed, spans=spans))

    return replace(one, turns=tuple(spanned(turn, made) for turn, made in zip(one.turns, turns, strict=True)))


def places(one, **knobs):
    return [place.token for place in failed_calls(**{"copies": 1} | knobs)(one)]


def test_failed_calls_equals_the_worked_example():
    """A turn of twenty tokens whose call stands at 12 to 19 of them."""
    turn = make_trajectory(layouts=["U" + "t" * 19 + "p" * 20], calls=[["f"]], replies=[[BAD]]).turns[0]
    one = make_trajectory(layouts=["U" + "t" * 19 + "p" * 20], calls=[["f"]], replies=[[BAD]], id="t")
    parsed = ParsedTurn("", turn.parsed.calls, spans=((12, 19),))
    one = replace(one, turns=(replace(turn, parsed=parsed),))
    for back, wanted in [(0, 32), (5, 27), (100, 20)]:
        assert failed_calls(copies=2, back=back)(one) == [Branch("t", 0, wanted)] * 2


def test_executed_calls_are_not_fork_points():
    assert places(trunk([("ok", 3)], [("infra_error", 3)], [])) == []
    assert places(trunk([("ok", 1), ("failed", 6)])) == [7], "the second call of the turn is the one that failed"


@pytest.mark.parametrize("status", ["retry", "failed", "invalid", "timeout"])
def test_every_failed_status_is_a_fork_point(status):
    assert places(trunk([("ok", 3)], [(status, 3)])) == [1 + 11 + 3]


def test_a_malformed_call_forks_at_the_start_of_its_turn():
    assert places(trunk([("ok", 3)], "not closed")) == [12]


def test_only_the_first_failed_turns_are_fork_points():
    one = trunk([("failed", 3)], [("failed", 4)], [("ok", 4)], [("retry", 5)])
    assert places(one) == [4] and places(one, most=2) == [4, 16] and places(one, most=9) == [4, 16, 39]
    assert places(one, most=2, copies=3) == [4, 4, 4, 16, 16, 16] and places(one, copies=0) == []


def test_forks_end_after_one_turn(dice):
    """Dice fail nothing, so every turn that called is taken for one that failed."""

    def all_calls(one):
        marked = [replace(t, replies=tuple(replace(r, status="failed") for r in t.replies)) for t in one.turns]
        return failed_calls(copies=4, most=2)(replace(one, turns=tuple(marked)))

    found = []
    for seed in range(12):
        first, *branches = run_plan(forking(at=all_calls, branch_turns=1)(dice.attempt(seed)), sample=dice.roll)
        for n, branch in enumerate(branches):
            k = next(k for k, turn in enumerate(first.turns) if branch.branch_of.token <= turn.stop)
            assert len(branch.turns) == k + 1 and branch.ending.kind in ("completed", "truncated")
            found.append(branch)
    assert len(found) >= 12 and any(one.turns[-1].replies for one in found)


@pytest.mark.parametrize("knobs", [{"copies": -1}, {"back": -1}, {"most": 0}])
def test_failed_calls_refuses_numbers_out_of_range(knobs):
    with pytest.raises(InputError, match="failed_calls has"):
        failed_calls(**knobs)
    with pytest.raises(InputError, match="branch_turns is 0"):
        forking(at=failed_calls(), branch_turns=0)
