"""Rollout that resamples a turn with a failed call."""

from collections.abc import Generator
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Turn
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.takeback import Takeback

__all__ = ["failed_at", "resample_failed_turn"]


def resample_failed_turn(
    *,
    retries: int = 4,
    back: int = 20,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Play like `linear`; resample a failed call and the end of the thought before the call, up to N times.

        turn t   = z_1 ... z_m c              c: from its first failed call on, as in `failed_calls`
        resample = z_1 ... z_(m-L) z' c'      z' c' sampled by the policy after the kept tokens, the environment
        restored
        the first resample that does not fail stays, else the last; then the rollout continues

    Every resample keeps the same tokens of the turn that failed first, none if m < L or if the call is malformed. A
    failed turn and its reply are not read again, unlike in `repairing`, whose retries read the error and are sampled in
    another context. Here all tokens of the final turn are the policy's own at this place (POLICY); a call is executed
    once for each sample.

    The strategy is for evaluations: the remaining turns are selected by execution, so that training on them would be
    biased.

    Args:
        retries: N, >= 0; 0 is `linear`. 4 in THOR.
        back: L, tokens of the thought before the call that are resampled, too, >= 0.
        max_turns: turns or `Rules`, as for `linear`; a budget counts all sampled tokens. A failed call stays in the
            last allowed turn, and after the budget of tokens, calls, seconds or cost is spent.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. notes["redrawn"] lists its
        resampled turns: turn, tries, kept tokens; notes["put"] has the usage of the turns taken back, by turn.

    Raises:
        InputError: a number out of range, or an environment without snapshots if there are retries.

    Example:
        "so now <CALL>run print(1+)" of which 7 tokens are thought, back 4: "so " is kept, and the rest sampled again

    Paper: arXiv:2509.13761 (THOR), self-correction during inference; arXiv:2505.16410 (Tool-Star), its tool-use
    backtracer.
    Unconfirmed: L in THOR's evaluations. THOR has N = 4, and its released code keeps the last resample if all fail.
    Differs: a resample that is cut off, or begins another speaker's turn, counts as failed. THOR's released code drops
        the failed segment and L = 500 tokens before it, and L more with each retry.
    """
    if retries < 0 or back < 0:
        raise InputError(f"retries is {retries} and back {back}; give 0 or more each")
    rules = Rules.of(max_turns, snapshots=retries > 0)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.run(_turns(Takeback(play), retries, back)))]

    return rollout


def _turns(takeback: Takeback, retries: int, back: int) -> Generator[Request, Any, Ending]:
    play = takeback.play
    while (ending := (yield from play.turn())) is None:
        k = len(play.turns) - 1
        place = failed_at(play.turns[k])
        if place is not None and not takeback.was_spliced(k):
            ending = yield from _resample(takeback, k, max(0, place - back), retries)
            if ending is not None:
                return ending
    return ending


def _resample(takeback: Takeback, k: int, kept: int, retries: int) -> Generator[Request, Any, Ending | None]:
    """Resample turn k until it does not fail. Return the ending of the rollout, or None if it can continue."""
    play, ending = takeback.play, None
    first = play.turns[k]
    prefix_span = play.sequences[first.sequence].span(first.start, first.start + kept)
    for n in range(retries):
        left = play.remaining
        if left.nothing or left.calls == 0:
            break
        failure = yield from takeback.rewind(k)
        if failure is not None:
            return failure
        play.notes["redrawn"] = [*play.notes.get("redrawn", []), {"turn": k, "tries": n + 1, "kept": kept}]
        ending = yield from takeback.resample_turn(prefix_span, seed=derive_seed(play.attempt.seed, "redrawn", k, n))
        if failed_at(play.turns[k]) is None if ending is None else ending.kind in ("completed", "infra_error"):
            break
    return ending


def failed_at(turn: Turn) -> int | None:
    """Index in the turn's tokens of the first failed call; None without a failed call."""
    status = {reply.call_id: reply.status for reply in turn.replies}
    for call, (start, _) in zip(turn.parsed.calls, turn.parsed.spans or [(0, 0)] * len(turn.parsed.calls), strict=True):
        if status.get(call.id, "ok") not in ("ok", "infra_error"):
            return 0 if turn.parsed.errors else start
    return 0 if turn.parsed.errors else None
