"""Restart a share of the groups in the middle of a recorded trajectory."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolSchema, Trajectory
from handaxe.core.requests import Attempt, EnvReply
from handaxe.core.usage import Usage
from handaxe.ops.seeds import generator
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.rewind import rewind

__all__ = ["Starts", "restarting"]

Starts = Callable[[Attempt], tuple[Trajectory, int] | None]
"""Start of a rollout: a recorded trajectory of the same task and one of its turns; None starts at the beginning."""
KEPT = 4096
"""Number of groups with a remembered start; more than are ever in flight."""


def restarting(
    *,
    starts: Starts,
    share: float = 0.5,
    answered: bool = True,
    spread: bool = False,
    max_turns: int | Rules = 4,
    seed: int = 0,
) -> Rollout:
    """Start a share of the groups inside a stored trajectory, the same for all siblings; continue as `linear`.

        a group restarts  <=>  u(step, task) < share, and the store has a start for its task, at turn K
        sibling           =    recorded turns 0 .. k - 1, replayed (see `rewind`), then new turns
        k                 =    K;  with `spread`, K - (i mod K) for sibling i: K, K - 1, ..., 1, K, ...

    The recorded part precedes the trajectory's `branch_of`; `advantages.mask_shared_prefix` excludes it from training.
    Evaluations need another strategy, which a method provides.

    Args:
        starts: the store; called once per group. List a store that learns from rollouts in `learners` of `train`.
        share: of the groups, in [0, 1]; drawn per group.
        answered: False: no environment is made at a stored start, no recorded turn is replayed, and the rollout ends
            after one turn without a reply, truncated for "turns".
        spread: siblings start at different turns. They are no samples at one state then: for credits that compare no
            siblings.
        max_turns: turns or `Rules`, as in `linear`, of the whole, recorded turns included.
        seed: of the draws.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. A restarted rollout cannot be
        replayed after a change of the store.

    Raises:
        InputError: a share out of [0, 1], or an error of `rewind`.

    Example:
        a store with turn 2 of t/0, share 1: all rollouts of the group of task t have turns 0 and 1 of t/0 and
        continue from there

    Paper: arXiv:2512.24873 (ROME), resampling from the beginning of a chunk, with `spread` of several at once;
    arXiv:2402.19446 (ArCHer), actions sampled at states of a replay buffer, with answered=False.
    Unconfirmed: which groups restart, and how often.
    Differs: a state is reached by replaying the record, not by a copy of the environment; ROME's share is not given.
    """
    if not 0 <= share <= 1:
        raise InputError(f"restarting has the share {share}; give 0 to 1")
    rules = Rules.of(max_turns)
    known: dict[tuple[int, str], tuple[Trajectory, int] | None] = {}

    def place(attempt: Attempt) -> tuple[Trajectory, int] | None:
        """Return the group's start. Siblings reuse the first one's start, since the store may learn in between."""
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
        recorded, last = found
        turn = last - attempt.sibling % last if spread else last
        if answered:
            return [(yield from rewind(attempt, rules, recorded, turn=turn).run())]
        alone = replace(attempt, env=_Silent)
        one = yield from rewind(alone, rules, recorded, turn=turn, again=False).run()
        return [replace(one, total_usage=Usage.of(one.turns[turn:])._replace(calls=0))]

    return rollout


class _Silent:
    """Environment that never replies: it ends the rollout at the first turn."""

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
        """Do nothing: there is no state."""

    def close(self) -> None:
        """Do nothing: there are no resources."""
