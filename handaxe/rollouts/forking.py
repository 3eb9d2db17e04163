"""A rollout that is played once and then branched: several trajectories that share what came before the forks."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Branch, Trajectory
from handaxe.core.requests import Attempt, Spawn, Stopped
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.budget import Budget, BudgetMessage
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.fork import fork

__all__ = ["Choose", "forking"]

Choose = Callable[[Trajectory], Sequence[Branch]]


def forking(
    *,
    at: Choose,
    branch_turns: int | None = None,
    max_turns: int = 4,
    budget: Budget | None = None,
    tell_budget: bool | BudgetMessage = False,
) -> Rollout:
    """Play a trunk like `linear`, then fork it at chosen places and play all branches at the same time.

        trunk     a0 a1 a2 | r0 | b0 b1 | r1 | c0          id "t/0", seed s
        fork at a2                                         id "t/0/branch-0", seed derive_seed(s, "branch", 0)
                  a0 a1 x2 | r0'| y0 ...                   a0 a1 are the trunk's, x2 and all after it are its own

    Branch n is the n-th place chosen. What each shares, and with which state of the environment it goes on, is said in
    `rollouts.play.fork`; tokens that several trajectories share train once for each of them. A budget counts, for every
    trajectory, all of its own tokens, calls, seconds and cost, the shared ones included.

    Args:
        at: the finished trunk -> places to fork it at, in any order, places twice included; `turn_starts`,
            `surprising_tokens` and `failed_calls` are such functions. It is not asked about a trunk that died or was
            stopped.
        branch_turns: most turns of a branch of its own, >= 1, the one that it leaves in included; as many as are left
            of `max_turns` unless told otherwise.
        max_turns, budget, tell_budget: of each trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the trunk and its branches, in order.

    Raises:
        InputError: a limit out of range, a place where the trunk cannot be forked, an environment without snapshots;
            and what an environment raises for a task it cannot take. A trunk of which nothing can be forked is alone.

    Example:
        forking(at=turn_starts(count=2)) gives a trunk of at least two turns and two branches: three trajectories a try.

    Idea: branch where it matters and pay for the shared part once.
    """
    if branch_turns is not None and branch_turns < 1:
        raise InputError(f"branch_turns is {branch_turns}; give 1 or more, or None")
    rules = Rules(max_turns=max_turns, budget=budget or Budget(), tell_budget=tell_budget, snapshots=True)

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
