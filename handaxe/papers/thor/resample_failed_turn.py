"""A rollout that corrects itself: a turn whose call failed is taken back and drawn anew from just before the call."""

from collections.abc import Generator
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed
from handaxe.papers.thor.failed_calls import failed_at
from handaxe.rollouts.budget import Budget, Tell
from handaxe.rollouts.play import Play, Request, Rules

__all__ = ["resample_failed_turn"]


def resample_failed_turn(
    *,
    retries: int = 4,
    back: int = 20,
    max_turns: int = 4,
    budget: Budget | None = None,
    tell_budget: bool | Tell = False,
) -> Rollout:
    """Play like `linear`; where a call fails, draw the end of the thought before it and the call again, up to N times.

        turn t = z_1 ... z_m c        c: from its first failed call on, as `failed_calls` has it
        redrawn  z_1 ... z_(m-L) z' c'        z' c' drawn by the policy after the tokens kept, the environment as it was
        the first redrawn turn that does not fail stays, else the last; then the attempt goes on

    Every try keeps the same tokens of the turn that failed first, none where m < L or where the call is malformed.
    Neither a failed turn nor its reply is seen again, unlike in `repairing`, whose retries read what went wrong, so
    that what they say was drawn in another context. Here all tokens of the turn that stays are the policy's own, drawn
    in this very place (POLICY); a call is carried out once for each time that it is drawn.

    This is for evaluations. The turns that stay are chosen by whether they run, so a step that trains them would take
    for the policy what is better than it.

    Args:
        retries: N, >= 0; 0 is `linear`.
        back: L, tokens of the thought before the call that are drawn anew too, >= 0.
        max_turns, budget, tell_budget: as in `linear`; a budget counts all that was drawn. A call that fails in the
            last turn allowed is left, and so is one after which tokens, calls, seconds or cost are spent.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Its notes["redrawn"] lists the
        turns that were: turn, tries, kept tokens; notes["put"] has what was used up by the turns taken back, by turn.

    Raises:
        InputError: a number out of range, or an environment without snapshots where there are retries.

    Example:
        "so now <CALL>run print(1+)" of which 7 tokens are thought, back 4: "so " is kept, and the rest drawn again

    Paper: arXiv:2509.13761 (THOR), self-correction during inference.
    Unconfirmed: N, L, and which try stays where all fail; in training the paper's script draws 100 tokens anew.
    Differs: a try that is cut off, or begins another speaker's turn, counts as failed.
    """
    if retries < 0 or back < 0:
        raise InputError(f"redrawing has retries={retries} and back={back}; give 0 or more of each")
    rules = Rules(max_turns=max_turns, budget=budget or Budget(), tell_budget=tell_budget, snapshots=retries > 0)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.whole(_turns(play, retries, back)))]

    return rollout


def _turns(play: Play, retries: int, back: int) -> Generator[Request, Any, Ending]:
    while (ending := (yield from play.turn())) is None:
        k = len(play.turns) - 1
        place = failed_at(play.turns[k])
        if place is not None and not play.was_put(k):
            ending = yield from _redraw(play, k, max(0, place - back), retries)
            if ending is not None:
                return ending
    return ending


def _redraw(play: Play, k: int, kept: int, retries: int) -> Generator[Request, Any, Ending | None]:
    """Draw turn k anew until it does not fail; how the attempt ended, or None when it can go on."""
    first, ending = play.turns[k], None
    begun = play.sequences[first.sequence].span(first.start, first.start + kept)
    for n in range(retries):
        left = play.left
        if left.nothing or left.calls == 0:
            break
        gone = yield from play.rewind(k)
        if gone is not None:
            return gone
        play.notes["redrawn"] = [*play.notes.get("redrawn", []), {"turn": k, "tries": n + 1, "kept": kept}]
        ending = yield from play.turn(seed=derive_seed(play.attempt.seed, "redrawn", k, n), begun=begun)
        if failed_at(play.turns[k]) is None if ending is None else ending.kind in ("completed", "infra_error"):
            break
    return ending
