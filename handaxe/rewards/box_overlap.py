"""Compares a predicted box with the task's box."""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Literal

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.checks import is_number

__all__ = ["Box", "Measure", "box_overlap"]

Box = Sequence[float]
"""Corners of a box with axis-aligned sides in D dimensions: D lowest coordinates, then D highest."""
Measure = Literal["iou", "recall", "centre", "edges"]


def box_overlap(
    *,
    found: Callable[[Trajectory], Box | None],
    gold: Callable[[Task], Box],
    measure: Measure = "iou",
    sides: Sequence[float] | None = None,
) -> Reward:
    """Measure the overlap of two boxes in D dimensions. A stretch of a row is a box of one dimension.

        I = volume of both,  V = volume,  b = found(trajectory), g = gold(task)
        iou      I / (V_b + V_g - I)
        recall   I / V_g                       is 1 for a region that contains all of g
        centre   1 if the centre of b lies in g or on its border, else 0
        edges    2 D / sum_k (1 / x_k),  x_k = 1 - |b_k - g_k| / side of k's dimension;  0 if some x_k <= 0

    0 without a predicted box, and for a box with swapped corners, without volume, or with a coordinate that is no
    finite number, or is 1e300 or larger.

    Args:
        found: the predicted box: of the last executed call, or of the answer.
        gold: the box of the task.
        measure: iou, recall, centre or edges.
        sides: for edges, the extent of the screen or row in each dimension, D numbers.

    Returns:
        A reward with outcome [G] in [0, 1].

    Raises:
        InputError: an unknown measure, edges without sides, or sides that are not positive. TaskError: a gold value
            that is no box, or has another dimension than sides.

    Example:
        (100, 100, 200, 200) against (110, 110, 210, 210) in 1000 by 500: iou 8100 / 11900 = 0.6807, centre 1,
        edges 4 / (2 / 0.99 + 2 / 0.98) = 0.9850;  (10, 30) against (20, 40): iou 1/3, recall 1/2

    Paper: arXiv:2505.15810 (GUI-G1) iou, centre (hit) and edges (box); arXiv:2511.20785 (LongVT) iou and recall in one
        dimension, both from released code.
    Differs: coordinates are continuous; GUI-G1's code counts pixels, which adds 1 to each side.
    """
    if measure not in ("iou", "recall", "centre", "edges"):
        raise InputError(f"measure is {measure!r}; give iou, recall, centre or edges")
    if (measure == "edges" and sides is None) or (sides is not None and not all(side > 0 for side in sides)):
        raise InputError(f"sides is {sides}; edges are measured against positive lengths, one a dimension")

    def score(trajectory: Trajectory) -> float:
        want = gold(trajectory.task)
        if not _is_box(want) or (sides is not None and len(want) != 2 * len(sides)):
            raise TaskError(f"task {trajectory.task.id!r} has the box {want!r}; give D lowest, then D highest numbers")
        have = found(trajectory)
        if have is None or len(have) != len(want) or not _is_box(have):
            return 0.0
        have = [float(one) for one in have]  # products of large whole numbers are no floats any more
        return _edges(have, want, sides) if measure == "edges" and sides is not None else _shared(have, want, measure)

    return outcome(score)


def _is_box(box: Box) -> bool:
    numbers = all(is_number(one) for one in box)
    return numbers and len(box) > 0 and len(box) % 2 == 0 and all(low < high for low, high in _intervals(box))


def _shared(have: Box, want: Box, measure: Measure) -> float:
    found, gold = list(_intervals(have)), list(_intervals(want))
    common = prod(max(0.0, min(b[1], g[1]) - max(b[0], g[0])) for b, g in zip(found, gold))
    volume_found, volume_gold = (prod(high - low for low, high in one) for one in (found, gold))
    inside = all(g[0] <= sum(b) / 2 <= g[1] for b, g in zip(found, gold))
    union = volume_found + volume_gold - common
    return {"iou": common / union, "recall": common / volume_gold, "centre": float(inside)}[measure]


def _intervals(box: Box) -> Iterator[tuple[float, float]]:
    """Lowest and highest coordinate in each dimension."""
    return zip(box[: len(box) // 2], box[len(box) // 2 :])


def _edges(have: Box, want: Box, sides: Sequence[float]) -> float:
    near = [1 - abs(b - g) / sides[k % len(sides)] for k, (b, g) in enumerate(zip(have, want))]
    return len(near) / sum(1 / one for one in near) if min(near) > 0 else 0.0
