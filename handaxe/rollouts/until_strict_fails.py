"""Early stop: a linear rollout that ends at the first user turn with an unmet strict criterion.

Kept: a rule of the length of rollouts for users.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from handaxe.core.errors import InfrastructureError
from handaxe.core.protocols import Check, Rollout, RolloutPlan
from handaxe.core.records import Criterion, Ending, Task, Trajectory
from handaxe.core.requests import Attempt, Work
from handaxe.ops.criteria import criteria_progress, user_turn_indices
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.env_session import infra_error

__all__ = ["until_strict_fails"]


def until_strict_fails(
    *,
    criteria: Callable[[Task], Sequence[Criterion]],
    check: Check,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Play turn by turn, up to the first user turn with an unmet strict criterion.

        when the user speaks again: end as policy_error if a strict criterion of any finished user turn is not met

    Turns after an irreparable failure are neither sampled nor trained. With a single user turn this equals `linear`.

    Args:
        criteria: criteria of a task; see `records.Criterion`.
        check: criteria met after each turn. Its input is an unfinished trajectory: turns and messages without
            token sequences. It may block; its InfrastructureError ends the rollout as infra_error.
        max_turns: turns or `Rules`, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory.

    Raises:
        InputError: as `linear`. TaskError: as `papers.cm2.checklist`.

    Example:
        a strict "opened" about the first of two user turns, not met when the second begins
        ->  policy_error before the policy's reply to the second

    Paper: arXiv:2602.12268 (CM2), early stop at a strict item.
    Differs: nothing.
    """
    rules = Rules.of(max_turns)

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
            except InfrastructureError as error:  # of a remote judge
                return infra_error(error)
            if failed:
                return Ending("policy_error", "a strict criterion was not met")
    return ending


def _failed(play: Play, criteria: Sequence[Criterion], check: Check) -> bool:
    """Return True if a strict criterion of a finished user turn is not met."""
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
