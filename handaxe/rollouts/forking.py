"""Fork a finished trunk at chosen places, and play the branches.

Kept: users combine fork points, budgets and credits; `surprising_tokens`, `turn_starts` and `until_strict_fails` choose
the tokens.
"""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Branch, Trajectory
from handaxe.core.requests import Attempt, Spawn, Stopped
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.fork import fork

__all__ = ["Choose", "forking"]

Choose = Callable[[Trajectory], Sequence[Branch]]


def forking(
    *,
    at: Choose,
    branch_turns: int | None = None,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Play a trunk like `linear`, then fork it at chosen places and play all branches concurrently.

        trunk     a0 a1 a2 | r0 | b0 b1 | r1 | c0          id "t/0", seed s
        fork at a2                                         id "t/0/branch-0", seed derive_seed(s, "branch", 0)
                  a0 a1 x2 | r0'| y0 ...                   a0 a1 are the trunk's; x2 and all later tokens are new

    Branch n belongs to the n-th chosen place. `rollouts.play.fork` documents the shared part and the environment's
    state; shared tokens train once per trajectory. A budget counts all tokens, calls, seconds and cost of a trajectory,
    shared ones included.

    Args:
        at: the finished trunk -> places to fork, in any order, repetitions allowed, such as `turn_starts`,
            `surprising_tokens` and `failed_calls`. Not called for a trunk that died or was stopped.
        branch_turns: maximum turns of a branch, >= 1, the turn of its fork included; None: the rest of `max_turns`.
        max_turns: turns or `Rules`, per trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the trunk and its branches, in order. A trunk
        without any possible fork is returned alone.

    Raises:
        InputError: a limit out of range, a place where the trunk cannot be forked, an environment without snapshots,
            or a task that the environment rejects.

    Example:
        forking(at=turn_starts(count=2)) gives a trunk of at least two turns and two branches: three trajectories.

    Idea: branch at the decisive tokens and pay for the shared part once.
    """
    if branch_turns is not None and branch_turns < 1:
        raise InputError(f"branch_turns is {branch_turns}; give 1 or more, or None")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        trunk = Play(attempt, rules)
        first = yield from trunk.run()
        if first.ending.kind == "infra_error" or first.ending.reason == "stopped":
            return [first]
        names = [(f"{attempt.id}/branch-{n}", place) for n, place in enumerate(at(first))]
        if not names:
            return [first]
        plays = [
            fork(trunk, place, id=name, seed=derive_seed(attempt.seed, "branch", n), turns=branch_turns)
            for n, (name, place) in enumerate(names)
        ]
        try:
            found = yield Spawn(tuple(play.plan() for play in plays), tuple(name for name, _ in names))
        except Stopped as stopped:
            found = stopped.spawned
        return [first, *(trajectory for branch in found for trajectory in branch)]

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout
