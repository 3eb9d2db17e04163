"""Rollout that samples the trajectories of a question as a tree of turns."""

from collections.abc import Generator
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Branch
from handaxe.core.requests import Attempt, Stopped
from handaxe.ops.seeds import derive_seed, generator
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.attach_branches import attach_branches
from handaxe.rollouts.play.fork import fork
from handaxe.rollouts.play.rounds import Rounds

__all__ = ["tree"]


def tree(
    *,
    total: int = 8,
    fork_most: int = 2,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Grow a tree of turns with a constant number of leaves.

        depth 0      `total` first turns
        depth d > 0  n_c trajectories are finished, the other total - n_c are not; each of these offers `fork_most` next
                     turns, of which total - n_c are kept in all, sampled uniformly by the seed

        depth   0     1     2
                a --- b --- d        a kept both of its next turns, c none: a and b, a and e, of total = 2
                  \\-- e
                c (dropped)

    The choice does not depend on the turns, so that turns that are not kept are not sampled. A trajectory without a
    kept next turn ends, truncated for "stopped". It follows the others, counts in the usage, and is neither scored nor
    trained.

    `branch_of` of each trajectory but the first names the sibling with the longest common prefix, and the place of the
    fork, so that `ops.turn_tree.turn_tree` can rebuild the tree. A round of turns ends with its slowest turn: the
    choice depends on seeds and on finished trajectories, not on the speed of tools.

    Args:
        total: n trajectories, >= 1.
        fork_most: f, maximum number of next turns kept after a turn, >= 1; 1 never forks or drops.
        max_turns: turns or `Rules`, of each trajectory, as for `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns `total` trajectories, then the dropped ones.
        One
        attempt is a whole group: `group_size=1`. Only the first is returned if its environment cannot be opened.

    Raises:
        InputError: a number out of range, an environment without snapshots or with a limit on open instances.

    Example:
        tree(total=8, fork_most=2) with `RunSettings(group_size=1)`

    Paper: PORTool, arXiv:2510.26020, tree rollouts.
    Unconfirmed: n, f, and the criterion by which turns are kept.
    Differs: turns that are not kept are not sampled first.
    """
    if total < 1 or fork_most < 1:
        raise InputError(f"total is {total} and fork_most {fork_most}; give 1 or more each")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        rounds = Rounds()
        dropped: list[str] = []
        try:
            yield from _grow(attempt, rules, rounds, dropped, total, fork_most)
        except Stopped:
            yield from rounds.stop()
        finally:
            rounds.close()
        return attach_branches(rounds.trajectories, dropped)

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
        for play, copies in zip(active, np.bincount(chosen // fork_most, minlength=len(active))):
            last = len(play.sequences) - 1
            for _ in range(copies - 1):
                add(play, Branch(play.attempt.id, last, len(play.sequences[last].ids)))
            if not copies:
                dropped.append(play.attempt.id)
                yield from rounds.drop(play)
        yield from rounds.next()
