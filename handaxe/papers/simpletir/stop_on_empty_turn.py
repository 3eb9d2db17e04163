"""Rollout that ends at the first empty turn."""

from collections.abc import Callable, Generator
from typing import Any

from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Turn
from handaxe.core.requests import Attempt
from handaxe.ops.empty_turn import is_empty_turn
from handaxe.rollouts.play import Play, Request, Rules

__all__ = ["stop_on_empty_turn"]


def stop_on_empty_turn(*, answer: Callable[[Turn], bool], max_turns: int | Rules = 4) -> Rollout:
    """Play like `linear`, and end after a turn with neither a complete call nor a final answer.

        after turn k, if the rollout continues: end as policy_error if turn k is void (see `ops.void`)

    The environment has received the void turn; its reply is recorded, but not read by the policy. The rollout is scored
    as usual; `selection.mask_empty_turns` leaves it out of the loss.

    Args:
        answer: turn -> whether it gives a final answer, such as a world's `is_answer`.
        max_turns: turns or `Rules`, as for `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. It equals `linear` if every
        turn has a call or ends the rollout.

    Raises:
        InputError: as `linear`.

    Example:
        a call, then a call that is not closed, then the answer  ->  policy_error after two turns

    Paper: arXiv:2509.02479 (SimpleTIR): a void turn ends the rollout at once.
    Differs: nothing.
    """
    rules = Rules.of(max_turns)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.run(_turns(play, answer)))]

    return rollout


def _turns(play: Play, answer: Callable[[Turn], bool]) -> Generator[Request, Any, Ending]:
    while (ending := (yield from play.turn())) is None:
        if is_empty_turn(play.turns[-1], answer=answer):
            return Ending("policy_error", "a turn held neither a call nor an answer")
    return ending
