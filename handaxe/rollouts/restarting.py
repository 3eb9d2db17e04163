"""A rollout of which some groups begin in the middle of a recorded attempt."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolSchema, Trajectory, Usage
from handaxe.core.requests import Attempt, EnvReply
from handaxe.ops.seeds import generator
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.rewind import rewind

__all__ = ["Starts", "restarting"]

Starts = Callable[[Attempt], tuple[Trajectory, int] | None]
"""Where an attempt begins: in a recorded one at the same task, at this of its turns; None: at the beginning."""
KEPT = 4096
"""Groups whose place is remembered: more than are ever under way."""


def restarting(
    *,
    starts: Starts,
    share: float = 0.5,
    answered: bool = True,
    max_turns: int = 4,
    budget: Budget | None = None,
    seed: int = 0,
) -> Rollout:
    """Begin a share of the groups where a store says, all siblings of a group at the same place; play on as `linear`.

        a group restarts  <=>  u(step, task) < share, and the store knows a place for its task
        sibling           =    recorded turns 0 .. k - 1, played again (see `rewind`), then turns of its own

    What was recorded stands in the trajectory before its `branch_of`; give the credit `own_part`, so that it does not
    train. Evaluations want a strategy of their own, which is what a recipe gives them.

    Args:
        starts: the store; asked once a group. One that learns from what is played is listed in `learners` of `train`.
        share: of the groups, in [0, 1]; drawn for each.
        answered: False: nobody answers what is said at a recorded place. No environment is made there, none of the
            recorded turns is played again, and the attempt is over after one turn, truncated for "turns".
        max_turns, budget: as in `linear`, of the whole, recorded turns included.
        seed: of the draws.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. An attempt that restarted
        cannot be replayed once the store has changed.

    Raises:
        InputError: a share out of [0, 1]; what `rewind` raises.

    Example:
        a store that knows turn 2 of t/0, share 1: all attempts of the group of task t have turns 0 and 1 of t/0 and
        go on from there

    Paper: arXiv:2512.24873 (ROME), resampling from the beginning of a chunk; arXiv:2402.19446 (ArCHer), actions sampled
    at states of a replay buffer, with answered=False.
    Unconfirmed: which groups restart, and how often.
    Differs: a state is reached by playing the record again, not by a copy of the environment; ROME's share is not said.
    """
    if not 0 <= share <= 1:
        raise InputError(f"restarting has the share {share}; give 0 to 1")
    rules = Rules(max_turns=max_turns, budget=budget or Budget())
    known: dict[tuple[int, str], tuple[Trajectory, int] | None] = {}

    def place(attempt: Attempt) -> tuple[Trajectory, int] | None:
        """The store may learn while a group is under way, so its siblings are told what the first one was."""
        key = (attempt.step, attempt.task.id)
        if key not in known:
            drawn = share > generator("restarting", seed, *key).random()
            known[key] = starts(attempt) if drawn else None
            while len(known) > KEPT:
                del known[next(iter(known))]
        return known[key]

    def rollout(attempt: Attempt) -> RolloutPlan:
        found = place(attempt)
        if found is None:
            return [(yield from Play(attempt, rules).run())]
        recorded, turn = found
        if answered:
            return [(yield from rewind(attempt, rules, recorded, turn=turn).run())]
        alone = replace(attempt, env=_Silent)
        one = yield from rewind(alone, rules, recorded, turn=turn, again=False).run()
        return [replace(one, total_usage=Usage.of(one.turns[turn:])._replace(calls=0))]

    return rollout


class _Silent:
    """Stands in for an environment that is not asked, and ends the attempt where one would have answered."""

    def __init__(self, task: Task):
        self.task = task

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        return (), ()

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return EnvReply(done=True, ending=Ending("truncated", "turns"))

    def report(self) -> Mapping[str, Any]:
        return {}

    def snapshot(self) -> Any:
        return None

    def restore(self, state: Any) -> None:
        """There is no state."""

    def close(self) -> None:
        """There is nothing to release."""
