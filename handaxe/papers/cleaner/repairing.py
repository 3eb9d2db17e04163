"""A rollout that clears up behind itself: a call that failed and was put right is replaced by what put it right."""

import difflib
import json
from collections.abc import Generator
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Turn
from handaxe.core.requests import Attempt, Completion
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.budget import Budget, Tell
from handaxe.rollouts.play import Play, Request, Rules

__all__ = ["repairing", "similarity"]

FAILED = frozenset({"retry", "failed", "invalid", "timeout"})
ROOM = frozenset({"turns", "length"})
"""For want of what a retry may have been the last turn: there is room again once the failed turns are gone."""


def repairing(
    *,
    retries: int = 3,
    similar: float = 0.5,
    max_turns: int = 4,
    budget: Budget | None = None,
    tell_budget: bool | Tell = False,
) -> Rollout:
    """Play like `linear`; where a call fails and one of the next turns puts it right, take the failed turns back.

        turn t = thought z_t + calls c_t        failed: a reply that is not "ok", or a malformed call
        turn t + j, j <= K = z' + c'            the first whose calls are all well-formed and all "ok"
        sim = difflib.SequenceMatcher(None, c_t, c').ratio()        of the arguments' text
        sim >= gamma (shallow)    turn t becomes z_t + c'
        sim <  gamma (deep)       turn t becomes z' + c'

    Messages, tokens and environment go back to before turn t, the new turn t is carried out there, and the attempt
    goes on from the clean context. Where no retry succeeds, everything stays as it was. Retries draw from seeds of
    their own, so the turns that stay draw what they would have drawn without a failure.

    Who drew what is kept: z_t is the policy's own in this very context (POLICY). c', and in a deep repair all of the
    turn, was drawn after the failure, which no longer stands before it (FORCED: it trains, its behaviour_logp is that
    of where it was drawn, and its log-prob here is measured before training: annotate=("old_logp",)). So the ratio
    starts at 1 for all of them. Failed turns never train; they count in `Trajectory.spent` and in budgets.

    Args:
        retries: K, turns that may put a failure right, >= 0; 0 is `linear`. 3 in the paper (unconfirmed).
        similar: gamma, from 0 (always shallow) to above 1 (always deep); 0.5 in the paper (unconfirmed).
        max_turns, budget, tell_budget: as in `linear`; retries count until they are taken back.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Its notes["repaired"] lists
        the repairs: turn, retries it took, similarity, whether it was shallow; notes["put"], by turn, what was used up
        by the turns taken back, so that a replay counts it. A repaired turn that fails when it is carried out again
        stays, failed.

    Raises:
        InputError: retries below 0, a limit out of range, or an environment that has no snapshots.

    Example:
        c_t = "print(1+)", c' = "print(1+1)": sim = 18 / 19 = 0.947, shallow
        c_t = "foo()", c' = "print(3*4)": sim = 4 / 15 = 0.267, deep

    Paper: arXiv:2601.15141 (CLEANER), similarity-aware adaptive rollback. Unconfirmed: gamma and K.
    Differs: the new turn is carried out once more instead of taking over the retry's reply, so that environments with
    state are right; a failed turn whose call cannot be found among its tokens, or whose graft would be longer than a
    turn may be, is replaced whole; and where the budget leaves no calls to carry the new turn out once more, all stays
    as it was said. The paper recomputes the log-probs of all tokens; here too, as the feature old_logp.
    """
    if retries < 0:
        raise InputError(f"retries is {retries}; give 0 or more")
    rules = Rules(max_turns=max_turns, budget=budget or Budget(), tell_budget=tell_budget, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.whole(_turns(play, retries, similar)))]

    return rollout


def similarity(failed: Turn, repaired: Turn) -> float:
    """How alike the calls of two turns are, from 0 to 1: difflib's ratio of their arguments' text."""
    return difflib.SequenceMatcher(None, _code(failed), _code(repaired)).ratio()


def _turns(play: Play, retries: int, similar: float) -> Generator[Request, Any, Ending]:
    while (ending := (yield from play.turn())) is None:
        if _failed(play.turns[-1]) and not play.was_put(len(play.turns) - 1):
            ending = yield from _repair(play, retries, similar)
            if ending is not None:
                return ending
    return ending


def _repair(play: Play, retries: int, similar: float) -> Generator[Request, Any, Ending | None]:
    """Play retries after a failed turn; how the attempt ended, or None when it can go on."""
    t = len(play.turns) - 1
    for n in range(retries):
        count = len(play.turns)
        ending = yield from play.turn(seed=derive_seed(play.attempt.seed, "retry", t, n))
        worked = len(play.turns) > count and _worked(play.turns[-1])
        if worked and not _may_be_repeated(play):
            return ending
        if worked and (ending is None or ending.kind == "completed" or ending.reason in ROOM):
            return (yield from _replace(play, t, n + 1, similar))
        if ending is not None:
            return ending
    return None


def _may_be_repeated(play: Play) -> bool:
    """Whether the budget has room to carry out the last turn's calls once more."""
    left = play.left.calls
    return left is None or len(play.turns[-1].parsed.calls) <= left


def _replace(play: Play, t: int, tries: int, similar: float) -> Generator[Request, Any, Ending | None]:
    failed, repaired = play.turns[t], play.turns[-1]
    alike = similarity(failed, repaired)
    place = _calls_begin(failed, repaired) if alike >= similar else None
    own, cut = place or (0, 0)
    if own + repaired.stop - repaired.start - cut > play.attempt.sampling.max_tokens:
        place = None
        own = cut = 0
    thought = play.sequences[failed.sequence].span(failed.start, failed.start + own)
    rest = play.sequences[repaired.sequence].span(repaired.start + cut, repaired.stop)
    ending = yield from play.rewind(t)
    if ending is not None:
        return ending
    said = {"turn": t, "retries": tries, "similarity": alike, "shallow": place is not None}
    play.notes["repaired"] = [*play.notes.get("repaired", []), said]
    spoken = Completion(
        ids=[*thought.ids, *rest.ids],
        logp=[*thought.logp, *rest.logp],
        behaviour_logp=[*thought.behaviour_logp, *rest.behaviour_logp],
        version=[*thought.version, *rest.version],
        finish="stop",
    )
    return (yield from play.put(spoken, own=own))


def _calls_begin(failed: Turn, repaired: Turn) -> tuple[int, int] | None:
    """After how many tokens of each turn its first call begins; None where that cannot be told."""
    if failed.parsed.errors or not failed.parsed.spans or not repaired.parsed.spans:
        return None
    return failed.parsed.spans[0][0], repaired.parsed.spans[0][0]


def _failed(turn: Turn) -> bool:
    return bool(turn.parsed.errors) or any(reply.status in FAILED for reply in turn.replies)


def _worked(turn: Turn) -> bool:
    calls, replies = turn.parsed.calls, turn.replies
    return 0 < len(calls) == len(replies) and not turn.parsed.errors and all(one.status == "ok" for one in replies)


def _code(turn: Turn) -> str:
    """The text of the arguments of a turn's calls: the code, where a tool takes code."""
    values = [value for call in turn.parsed.calls for value in call.arguments.values()]
    return "\n".join(value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values)
