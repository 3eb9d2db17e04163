"""The plain rollout, which ends once a strict criterion of a turn of the user was not met in it."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from handaxe.core.errors import InfrastructureError
from handaxe.core.protocols import Check, Rollout, RolloutPlan
from handaxe.core.records import Criterion, Ending, Task, Trajectory
from handaxe.core.requests import Attempt, Work
from handaxe.ops.criteria import criteria_progress, user_turn_indices
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.env_session import infra_error

__all__ = ["until_strict_fails"]


def until_strict_fails(
    *,
    criteria: Callable[[Task], Sequence[Criterion]],
    check: Check,
    max_turns: int = 4,
    budget: Budget | None = None,
) -> Rollout:
    """Play one attempt turn by turn, and no further than a turn of the user in which something strict was missed.

        when the user speaks again: end as policy_error if a strict criterion about the turn of the user that is over,
        or about one before, is not met

    What follows a failure that cannot be made good again is neither sampled nor trained. Where the user speaks once,
    this is `linear`.

    Args:
        criteria: those of a task; see `records.Criterion`.
        check: which are met after each turn. It is asked of an attempt that is not over: turns and messages without
            token sequences. It may block; an InfrastructureError of it ends the attempt as infra_error.
        max_turns, budget: as of `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory.

    Raises:
        InputError: as `linear`. TaskError: as `papers.cm2.checklist`.

    Example:
        a strict "opened" about the first of two turns of the user, not met when the second begins
        ->  policy_error before the policy answers the second

    Paper: arXiv:2602.12268 (CM2), early stop at a strict item.
    Differs: nothing.
    """
    rules = Rules(max_turns=max_turns, budget=budget or Budget())

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.run(_turns(play, criteria(attempt.task), check)))]

    return rollout


def _turns(play: Play, criteria: Sequence[Criterion], check: Check) -> Generator[Request, Any, Ending]:
    strict = any(one.strict for one in criteria)
    while (ending := (yield from play.turn())) is None:
        said = play.messages[-1]
        if strict and said.role == "user" and not said.name:
            try:
                failed = yield Work(lambda: _failed(play, criteria, check))
            except InfrastructureError as error:  # of a judge that is asked elsewhere
                return infra_error(error)
            if failed:
                return Ending("policy_error", "a strict criterion was not met")
    return ending


def _failed(play: Play, criteria: Sequence[Criterion], check: Check) -> bool:
    """Whether something strict about a turn of the user that is over was not met."""
    so_far = Trajectory(
        id=play.attempt.id,
        task=play.attempt.task,
        sample=play.attempt.sample,
        turns=tuple(play.turns),
        sequences=(),
        ending=Ending("truncated", "stopped"),
        messages=tuple(play.messages),
    )
    over, met_C = user_turn_indices(so_far)[-1], criteria_progress(check, so_far, criteria).met_CN[:, -1]
    return any(one.strict and one.part <= over and not met for one, met in zip(criteria, met_C, strict=True))
