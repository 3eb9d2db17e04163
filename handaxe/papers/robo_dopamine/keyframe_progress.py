"""True progress of a demonstration between keyframes, and pairs of its states balanced by hop."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Trajectory
from handaxe.papers.robo_dopamine.hop_progress import hop_between
from handaxe.worlds.world import World

__all__ = ["balanced_pairs", "keyframe_progress", "keyframes"]


def keyframes(world: World, one: Trajectory) -> list[int]:
    """List the keyframes of a rollout of the expert: states after which a criterion is met first, and both ends.

    State k + 1 follows turn k. Criteria that are met first by one turn give one keyframe.

    Returns:
        Increasing indices from 0 to the number of turns; [] for a rollout without reward.

    Example:
        3 turns, the key after turn 1, door and end after turn 2  ->  0, 2, 3

    Paper: arXiv:2512.23703 (Robo-Dopamine), annotated keyframes between sub-tasks.
    Differs: the world's criteria mark sub-tasks; the paper has annotations by people.
    """
    if not world.correct(Group(one.task, (one,))).outcome[0] > 0:
        return []
    criteria = world.need("criteria")(one.task)
    met_CN = world.need("check")(one, criteria)
    first = {int(own.argmax()) + 1 for own in met_CN if own.any()}
    return sorted({0, *first, len(one.turns)})


def keyframe_progress(keyframes: Sequence[int]) -> np.ndarray:
    """Compute the progress of each state of a demonstration.

        Phi_k = (j + (k - K_j) / (K_{j+1} - K_j)) / N        K_j <= k <= K_{j+1},  N segments between keyframes

    Every segment has an equal share of the progress, whatever its length.

    Args:
        keyframes: K_0 = 0 < K_1 < ... < K_N, indices of states; the last one is the last state.

    Returns:
        [K_N + 1] from 0 to 1.

    Raises:
        InputError: fewer than two keyframes, a first one other than 0, or keyframes that do not increase.

    Example:
        keyframes 0, 2, 3  ->  0, 0.25, 0.5, 1

    Paper: arXiv:2512.23703 (Robo-Dopamine), step-wise discretization between annotated keyframes.
    Differs: every state of a segment counts; the paper samples an equal number of states per segment.
    """
    frames = np.asarray(keyframes)
    if len(frames) < 2 or frames[0] != 0 or (np.diff(frames) <= 0).any():
        raise InputError(f"keyframes are {list(keyframes)}; give 0 and further, increasing indices of states")
    return np.interp(np.arange(frames[-1] + 1), frames, np.linspace(0, 1, len(frames)))


def balanced_pairs(
    progress: Sequence[np.ndarray],
    *,
    count: int,
    rng: np.random.Generator,
    bins: int = 25,
    gap_bins: int = 4,
    zero_share: float = 0.05,
) -> np.ndarray:
    """Draw pairs of states of the same demonstration, balanced by hop and by distance.

        cell of (p, q) = (bin of H(p, q) in [-1, 1], bin of |p - q| in [1, T - 1])
        each pair: a uniform bin of hops, a uniform bin of distances there, a uniform pair of the cell

    Bins without a pair are left out. A share of pairs has twice the same state, with hop 0.

    Args:
        progress: Phi of each demonstration, [T_i], T_i states.
        count: pairs, >= 1.
        rng: of the draws.
        bins: bins of hops, >= 1; 25 in the released code.
        gap_bins: bins of distances, >= 1; 4 in the released code.
        zero_share: share of pairs of equal states, in [0, 1); 0.05 in the released code.

    Returns:
        [count, 3] integers: demonstration, state before, state after.

    Raises:
        InputError: a number out of range, or no demonstration with two states.

    Example:
        one demonstration with progress 0, 0.5, 1: hops 0.5 and 1 upward, -0.5 and -1 downward. Each of the four bins
        has a quarter of the pairs with different states, though 1 and -1 have two pairs each

    Paper: arXiv:2512.23703 (Robo-Dopamine), balanced hops; bins, distances and pairs of hop 0 as in the released code.
    Differs: draws with replacement over all demonstrations; the released code fills quotas within a demonstration.
    """
    if count < 1 or bins < 1 or gap_bins < 1 or not 0 <= zero_share < 1:
        raise InputError(f"count {count}, bins {bins}, {gap_bins}, zero_share {zero_share}: give 1 up, and [0, 1)")
    cells: dict[int, dict[int, list[tuple[int, int, int]]]] = {}
    for i, own in enumerate(progress):
        for before in range(len(own)):
            for after in range(len(own)):
                if before != after:
                    hop = float(hop_between(own[before], own[after]))
                    place = min(int((hop + 1) * bins / 2), bins - 1)
                    gap = min((abs(after - before) - 1) * gap_bins // max(len(own) - 1, 1), gap_bins - 1)
                    cells.setdefault(place, {}).setdefault(gap, []).append((i, before, after))
    if not cells:
        raise InputError("no demonstration has two states: give demonstrations of one turn or more")
    drawn = []
    for _ in range(count):
        if rng.random() < zero_share:
            i = int(rng.integers(len(progress)))
            state = int(rng.integers(len(progress[i])))
            drawn.append((i, state, state))
            continue
        row = cells[list(cells)[rng.integers(len(cells))]]
        own_pairs = row[list(row)[rng.integers(len(row))]]
        drawn.append(own_pairs[rng.integers(len(own_pairs))])
    return np.array(drawn)
