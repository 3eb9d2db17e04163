"""A rollout that grows a question's trajectories as a tree: after every turn some are copied and others given up."""

from collections.abc import Generator
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Branch
from handaxe.core.requests import Attempt, Stopped
from handaxe.ops.seeds import derive_seed, generator
from handaxe.rollouts.budget import Budget, Tell
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.attached import attached
from handaxe.rollouts.play.fork import fork
from handaxe.rollouts.play.rounds import Rounds

__all__ = ["tree"]


def tree(
    *,
    total: int = 8,
    fork_most: int = 2,
    max_turns: int = 4,
    budget: Budget | None = None,
    tell_budget: bool | Tell = False,
) -> Rollout:
    """Grow a tree of turns that always has `total` leaves.

        depth 0      `total` first turns
        depth d > 0  n_c trajectories are over, the other total - n_c are not; each of these offers `fork_most` next
                     turns, of which total - n_c are kept in all, drawn from the seed, each choice as probable as any

        depth   0     1     2
                a --- b --- d        a kept both of its next turns, c none: a and b, a and e, of total = 2
                  \\-- e
                c (given up)

    What is drawn does not look at the turns, so those that are not kept are not played either. A trajectory of which no
    next turn is kept ends there, truncated for "stopped". It stands behind the others, is counted in what was spent,
    and neither scored nor trained.

    `branch_of` of each but the first names the sibling with which it has the most turns in common, and where its own
    begin, so that `ops.forks.steps_of` finds the tree again. A round of turns is over when its slowest is: what is kept
    depends on seeds and on who was over, and not on how long tools take.

    Args:
        total: n trajectories, >= 1.
        fork_most: f, most turns kept after a turn, >= 1; with 1 nothing is copied and nothing given up.
        max_turns, budget, tell_budget: of each trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns `total` trajectories, then those given up. One
        attempt is a whole group: `group_size=1`. The first is alone where its environment cannot be opened.

    Raises:
        InputError: a number out of range, an environment without snapshots or one of which only so many may be open.

    Example:
        tree(total=8, fork_most=2) with `Setting(group_size=1)`

    Paper: PORTool, arXiv:2510.26020, tree rollouts.
    Unconfirmed: n, f, and by what the kept turns are chosen.
    Differs: turns that are not kept are not played first.
    """
    if total < 1 or fork_most < 1:
        raise InputError(f"tree has total={total} and fork_most={fork_most}; give 1 or more of each")
    rules = Rules(max_turns=max_turns, budget=budget or Budget(), tell_budget=tell_budget, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        rounds = Rounds()
        dropped: list[str] = []
        try:
            yield from _grow(attempt, rules, rounds, dropped, total, fork_most)
        except Stopped:
            yield from rounds.stop()
        finally:
            rounds.close()
        return attached(rounds.trajectories, dropped)

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


def _grow(
    attempt: Attempt, rules: Rules, rounds: Rounds, dropped: list[str], total: int, fork_most: int
) -> Generator[Request, Any, None]:
    def add(play: Play, place: Branch) -> None:
        number = len(rounds.plays)
        rounds.add(fork(play, place, id=f"{attempt.id}/{number}", seed=derive_seed(attempt.seed, "play", number)))

    root = Play(attempt, rules)
    yield from rounds.open(root)
    if not rounds.active:
        return
    for _ in range(total - 1):
        add(root, Branch(attempt.id, 0, 0))
    yield from rounds.next()
    depth = 0
    while active := rounds.active:
        depth += 1
        draw = generator(attempt.seed, "kept", depth)
        chosen = draw.choice(fork_most * len(active), len(active), replace=False)
        for play, kept in zip(active, np.bincount(chosen // fork_most, minlength=len(active))):
            last = len(play.sequences) - 1
            for _ in range(kept - 1):
                add(play, Branch(play.attempt.id, last, len(play.sequences[last].ids)))
            if not kept:
                dropped.append(play.attempt.id)
                yield from rounds.drop(play)
        yield from rounds.next()
