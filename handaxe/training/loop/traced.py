"""What a step did to attempts on their way into the weights: which selector left them out, and what the loss moved.

It is kept in the record, so that one can see why an attempt, or a token of it, got no gradient.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.protocols import Loss, Selector
from handaxe.core.records import Rated, Trajectory
from handaxe.selection.pipe import Staged

__all__ = ["Pushed", "Trace", "Traced", "ages"]


class Traced:
    """A selector that also says which of its parts took out what; it selects what the selector alone would.

    Args:
        select: where it is a `pipe`, its parts are looked at one by one.

    `left_out_by`: of the last call, id of an attempt -> name of the first part after which less of it trained.

    Example:
        pipe(void_turns(), drop_equal_groups()), an attempt with a void turn in a group of equal rewards: "void_turns"
    """

    def __init__(self, select: Selector):
        self.left_out_by: dict[str, str] = {}
        self._parts = list(_parts(select))

    def __call__(self, rated: Sequence[Rated]) -> list[Rated]:
        self.left_out_by = {}
        kept: Sequence[Rated] = list(rated)
        before = _tokens(kept)
        for name, select in self._parts:
            kept = list(select(kept))
            now = _tokens(kept)
            for one, count in before.items():
                if now[one] < count:
                    self.left_out_by.setdefault(one, name)
            before = now
        return list(kept)


def _parts(select: Selector) -> Iterator[tuple[str, Selector]]:
    if isinstance(select, Staged):
        for part in select.stages():
            yield from _parts(part)
    else:
        yield _name(select), select


def _name(part: Any) -> str:
    """The name of the factory that made it, or of its class or function.

    Example:
        what void_turns() returns -> "void_turns"; a Recompose -> "Recompose"
    """
    while isinstance(part, partial):
        part = part.func
    called = getattr(part, "__qualname__", type(part).__qualname__)
    return str(called).split(".")[0]


def _tokens(rated: Iterable[Rated]) -> Counter[str]:
    """How many tokens of each attempt train; an attempt of which none does is there with 0."""
    found = Counter[str]()
    for one in rated:
        for i, trajectory in enumerate(one.group):
            found[trajectory.id] += sum(int(mask_T.sum()) for mask_T in one.training_mask(i))
    return found


class Pushed:
    """Finds out which tokens a loss moves, from its own gradient: d loss / d log-prob of a token is not 0.

    What a clip or a mask of the loss stops is not moved, whatever its advantage; what a KL penalty alone pulls at is.
    `found`: id of an attempt -> per sequence [T] bool, over all optimiser steps so far.
    """

    def __init__(self) -> None:
        self.found: dict[str, tuple[np.ndarray, ...]] = {}

    def watching(self, loss: Loss, rated: Sequence[Rated]) -> Loss:
        """The loss, which also notes what it moves of a batch that `make_batch` made of these groups."""
        rows: dict[int, list[np.ndarray]] = {}  # as make_batch numbers rollouts, which stay whole and in order
        for one in rated:
            for i in np.flatnonzero(one.trained):
                trajectory, masks = one.group[int(i)], one.training_mask(int(i))
                moved = self.found.setdefault(trajectory.id, _none(trajectory))
                rows[len(rows)] = [moved[s] for s, mask_T in enumerate(masks) if mask_T.any()]

        def watched(policy: PolicyOut, batch: Batch) -> LossOut:
            out = loss(policy, batch)
            self._note(out, policy, batch, rows)
            return out

        return watched

    def _note(self, out: LossOut, policy: PolicyOut, batch: Batch, rows: Mapping[int, list[np.ndarray]]) -> None:
        if not (out.value.requires_grad and policy.logp_BT.requires_grad):
            return
        (pull_BT,) = torch.autograd.grad(out.value, [policy.logp_BT], retain_graph=True, allow_unused=True)
        if pull_BT is None:
            return
        moved_BT = ((pull_BT != 0) & batch.mask_BT).cpu().numpy()
        seen = Counter[int]()
        for row, rollout in enumerate(batch.rollout_B.tolist()):
            kept_T = rows[rollout][seen[rollout]]
            kept_T |= moved_BT[row, : len(kept_T)]
            seen[rollout] += 1


def _none(trajectory: Trajectory) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(len(sequence), bool) for sequence in trajectory.sequences)


@dataclass(frozen=True)
class Trace:
    """What `settle` adds to the record of a step.

    left_out_by  see `Traced`
    pushed       see `Pushed`; None where nothing was watched
    begun        the engine's version at the beginning of every step, this one the last
    """

    left_out_by: Mapping[str, str] = field(default_factory=dict)
    pushed: Mapping[str, tuple[np.ndarray, ...]] | None = None
    begun: Sequence[int] = ()


def ages(trajectories: Iterable[Trajectory], begun: Sequence[int]) -> np.ndarray:
    """How old the oldest token of each attempt is that a policy drew, in steps, as
    `training.loop.staleness.token_ages` counts:
    [G] float64, NaN where there is none.

    Example:
        versions at the start of steps 0, 1, 2: 0, 2, 4. In step 2 an attempt of versions 4 and 2 -> 1
    """

    def age(trajectory: Trajectory) -> float:
        drawn = [one.version[one.mask & ~one.forced] for one in trajectory.sequences]
        oldest = min((int(version.min()) for version in drawn if len(version)), default=None)
        return np.nan if oldest is None or not begun else float(len(begun) - max(1, bisect_right(begun, oldest)))

    return np.array([age(one) for one in trajectories], np.float64)
