"""The plain rollout, which ends at the first turn that did nothing."""

from collections.abc import Callable, Generator
from typing import Any

from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Turn
from handaxe.core.requests import Attempt
from handaxe.ops.void import is_void
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.play import Play, Request, Rules

__all__ = ["stop_on_empty_turn"]


def stop_on_empty_turn(*, answer: Callable[[Turn], bool], max_turns: int = 4, budget: Budget | None = None) -> Rollout:
    """Play one attempt turn by turn, and no further than a turn with no complete call and no final answer.

        after turn k, where the attempt goes on: end as policy_error if turn k is void (see `ops.void`)

    The environment has heard the void turn; what it replied is recorded and read by nobody. Such an attempt is scored
    as it stands; `selection.mask_empty_turns` leaves it out of the loss.

    Args:
        answer: whether a turn gives a final answer, such as a world's `answered`.
        max_turns, budget: as of `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Where every turn holds a call
        or ends the attempt, this is `linear`.

    Raises:
        InputError: as `linear`.

    Example:
        a call, then a call that is not closed, then the answer  ->  policy_error after two turns

    Paper: arXiv:2509.02479 (SimpleTIR): a void turn ends the rollout at once.
    Differs: nothing.
    """
    rules = Rules(max_turns=max_turns, budget=budget or Budget())

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.whole(_turns(play, answer)))]

    return rollout


def _turns(play: Play, answer: Callable[[Turn], bool]) -> Generator[Request, Any, Ending]:
    while (ending := (yield from play.turn())) is None:
        if is_void(play.turns[-1], answer=answer):
            return Ending("policy_error", "a turn held neither a call nor an answer")
    return ending
