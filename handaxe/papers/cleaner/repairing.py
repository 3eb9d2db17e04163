"""Rollout with repairs: a successful correction replaces the failed turns."""

import difflib
import json
from collections.abc import Generator
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Turn
from handaxe.core.requests import Attempt, Completion
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.takeback import Takeback

__all__ = ["code_similarity", "repairing"]

FAILED = frozenset({"retry", "failed", "invalid", "timeout"})
ROOM = frozenset({"turns", "length"})
"""Truncations by a limit that the removal of the failed turns lifts."""


def repairing(
    *,
    retries: int = 3,
    similarity: float = 0.5,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Play like `linear`; if a call fails and a later turn corrects it, replace the failed turns.

        turn t = thought z_t + calls c_t        failed: a reply that is not "ok", or a malformed call
        turn t + j, j <= K = z' + c'            the first with well-formed calls alone, all answered "ok"
        sim = difflib.SequenceMatcher(None, c_t, c').ratio()        of the arguments' text
        sim >= gamma (shallow)    turn t becomes z_t + c'
        sim <  gamma (deep)       turn t becomes z' + c'

    Messages, tokens and environment go back to before turn t, the new turn t is executed there, and the rollout resumes
    from the clean context. Without a successful retry everything stays as it is. Retries draw from separate seeds, so
    that the remaining turns sample as if nothing had failed.

    Authors of tokens: z_t was sampled by the policy in this context (POLICY). c', and in a deep repair the whole turn,
    was sampled after the failed turns, which are gone (FORCED: it trains, with the behaviour_logp of its original
    context, and its log-prob here is measured before training: annotate=("old_logp",)). The ratio starts at 1 for all
    tokens. Failed turns never train; they count in `Trajectory.total_usage` and in budgets.

    Args:
        retries: K, turns that may correct a failure, >= 0; 0 is `linear`. 3 in the paper (unconfirmed).
        similarity: gamma, from 0 (always shallow) to above 1 (always deep); 0.5 in the paper (unconfirmed).
        max_turns: turns or `Rules`, as in `linear`; retries count until they are removed.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Its notes["repaired"] lists
        the repairs: turn, number of retries, similarity, shallow or not; notes["put"] has, by turn, the consumption of
        the removed turns, for replays. A repaired turn that fails when it is executed again stays failed.

    Raises:
        InputError: retries below 0, a limit out of range, or an environment without snapshots.

    Example:
        c_t = "print(1+)", c' = "print(1+1)": sim = 18 / 19 = 0.947, shallow
        c_t = "foo()", c' = "print(3*4)": sim = 4 / 15 = 0.267, deep

    Paper: arXiv:2601.15141 (CLEANER), similarity-aware adaptive rollback. Unconfirmed: gamma and K.
    Differs: the new turn is executed once more instead of reusing the retry's reply, so that stateful environments are
    correct. A failed turn is replaced whole if its call cannot be located in its tokens, or if the graft would exceed
    the turn's limit. If the budget has no calls left for the repeated execution, nothing is replaced. The paper
    recomputes the log-probs of all tokens; here too, as the feature old_logp.
    """
    if retries < 0:
        raise InputError(f"retries is {retries}; give 0 or more")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.run(_turns(Takeback(play), retries, similarity)))]

    return rollout


def code_similarity(failed: Turn, repaired: Turn) -> float:
    """Compute the similarity of the calls of two turns, 0 to 1: difflib's ratio of their arguments' text."""
    return difflib.SequenceMatcher(None, _code(failed), _code(repaired)).ratio()


def _turns(takeback: Takeback, retries: int, min_similarity: float) -> Generator[Request, Any, Ending]:
    play = takeback.play
    while (ending := (yield from play.turn())) is None:
        if _failed(play.turns[-1]) and not takeback.was_spliced(len(play.turns) - 1):
            ending = yield from _repair(takeback, retries, min_similarity)
            if ending is not None:
                return ending
    return ending


def _repair(takeback: Takeback, retries: int, min_similarity: float) -> Generator[Request, Any, Ending | None]:
    """Play retries after a failed turn. Return the rollout's ending, or None if it can continue."""
    play, t = takeback.play, len(takeback.play.turns) - 1
    for n in range(retries):
        count = len(play.turns)
        ending = yield from play.turn(seed=derive_seed(play.attempt.seed, "retry", t, n))
        worked = len(play.turns) > count and _worked(play.turns[-1])
        if worked and not _may_be_repeated(play):
            return ending
        if worked and (ending is None or ending.kind == "completed" or ending.reason in ROOM):
            return (yield from _replace(takeback, t, n + 1, min_similarity))
        if ending is not None:
            return ending
    return None


def _may_be_repeated(play: Play) -> bool:
    """Check the budget for another execution of the last turn's calls."""
    left = play.remaining.calls
    return left is None or len(play.turns[-1].parsed.calls) <= left


def _replace(takeback: Takeback, t: int, tries: int, min_similarity: float) -> Generator[Request, Any, Ending | None]:
    play = takeback.play
    failed, repaired = play.turns[t], play.turns[-1]
    alike = code_similarity(failed, repaired)
    place = _calls_begin(failed, repaired) if alike >= min_similarity else None
    own, cut = place or (0, 0)
    if own + repaired.stop - repaired.start - cut > play.attempt.sampling.max_tokens:
        place = None
        own = cut = 0
    thought = play.sequences[failed.sequence].span(failed.start, failed.start + own)
    rest = play.sequences[repaired.sequence].span(repaired.start + cut, repaired.stop)
    ending = yield from takeback.rewind(t)
    if ending is not None:
        return ending
    repair = {"turn": t, "retries": tries, "similarity": alike, "shallow": place is not None}
    play.notes["repaired"] = [*play.notes.get("repaired", []), repair]
    spoken = Completion(
        ids=[*thought.ids, *rest.ids],
        logp=[*thought.logp, *rest.logp],
        behaviour_logp=[*thought.behaviour_logp, *rest.behaviour_logp],
        version=[*thought.version, *rest.version],
        finish="stop",
    )
    return (yield from takeback.splice_turn(spoken, own=own))


def _calls_begin(failed: Turn, repaired: Turn) -> tuple[int, int] | None:
    """Number of tokens before the first call of each turn; None if unknown."""
    if failed.parsed.errors or not failed.parsed.spans or not repaired.parsed.spans:
        return None
    return failed.parsed.spans[0][0], repaired.parsed.spans[0][0]


def _failed(turn: Turn) -> bool:
    return bool(turn.parsed.errors) or any(reply.status in FAILED for reply in turn.replies)


def _worked(turn: Turn) -> bool:
    calls, replies = turn.parsed.calls, turn.replies
    return 0 < len(calls) == len(replies) and not turn.parsed.errors and all(one.status == "ok" for one in replies)


def _code(turn: Turn) -> str:
    """Text of the arguments of a turn's calls: the code, for a tool that takes code."""
    values = [value for call in turn.parsed.calls for value in call.arguments.values()]
    return "\n".join(value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values)
