"""Credits computed over a subset of the siblings."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from handaxe.advantages.mask_shared_prefix import mask_shared_prefix
from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.credit.total import total
from handaxe.credit.transformed import transformed
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["forks", "no_forks", "sibling_subset", "trunks_and_forks"]

Choice = Callable[[Group, Scores], np.ndarray]


def forks(group: Group, scores: Scores) -> np.ndarray:
    """[G] bool: siblings forked from another sibling."""
    del scores
    return np.array([one.branch_of is not None for one in group], bool)


def no_forks(group: Group, scores: Scores) -> np.ndarray:
    """[G] bool: siblings that are no forks."""
    return ~forks(group, scores)


def sibling_subset(credit: Credit, only: Choice) -> Credit:
    """Compute a credit over the siblings that satisfy a predicate.

        Q = {i : only(group, scores)_i}          A_i = credit(group of Q, scores of Q)_i for i in Q, else 0

    Siblings outside Q count in no statistic and get 0 on every token. They stay in the loss and in its denominators.

    Args:
        credit: advantages of the siblings in Q. It must not have value targets, which the others would lack, nor
            channels: put `papers.hdpo.per_channel` around `sibling_subset`.
        only: (Group, Scores) -> [G] bool, such as `forks` and `no_forks`. Its value for an unscored sibling (outcome
            NaN) does not matter.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Its state is the credit's.

    Raises:
        InputError: `only` does not return one bool per sibling, or the credit has value targets or channels.

    Example:
        rewards 1, 0.5, 0.25, 0 under group_norm() among those above 0: mean 0.58333, sample std 0.38188
        ->  1.0911, -0.2182, -0.8729, 0

    Paper: arXiv:2604.08545 (HDPO), the efficiency advantage, which is normalized among the correct rollouts.
    Differs: nothing; the method `hdpo` has the equal `group_norm(stats_over="eligible")`.
    """
    return _SiblingSubset(credit, only)


def trunks_and_forks(trunks: Credit, of_forks: Credit, *, weight: float = 1.0) -> Credit:
    """Credit unforked rollouts and their forks separately, and the forks only from the fork point on.

        transformed(total({"trunks": (1, sibling_subset(trunks, no_forks)), "forks": (w, sibling_subset(of_forks,
        forks))}), mask_shared_prefix())

    Args:
        trunks: credit of the siblings that are no forks.
        of_forks: credit of the forks, such as `fork_norm`.
        weight: w, of the forks' advantages.

    Example:
        rewards 1, 0 of rollouts and 1, 0 of two forks of the second, both under group_norm(std="population"):
        1, -1 and 1, -1, the forks' from their fork point on

    Paper: THOR, arXiv:2509.13761, Eq. (9), and its released code, which concatenates two batches with separate groups.
    Differs: w, which is 1 in the paper. The paper's sum has two losses with denominators of their own.
    """
    parts = {
        "trunks": (1.0, sibling_subset(trunks, only=no_forks)),
        "forks": (weight, sibling_subset(of_forks, only=forks)),
    }
    return transformed(total(parts), mask_shared_prefix())


class _SiblingSubset(StatefulComposite):
    def __init__(self, credit: Credit, only: Choice):
        self._credit = credit
        self._only = only

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        chosen = np.asarray(self._only(group, scores))
        if chosen.shape != (len(group),) or chosen.dtype != bool:
            raise InputError(
                f"the predicate gave {chosen.dtype} {chosen.shape} for {len(group)} siblings: give [G] bool"
            )
        index = np.flatnonzero(chosen)
        inner = self._credit(replace(group, trajectories=tuple(group[int(i)] for i in index)), _taken(scores, index))
        if inner.returns is not None or inner.channels:
            raise InputError("sibling_subset takes no credit with value targets or channels")
        tokens = [tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group]
        trains = [tuple(sequence.mask for sequence in one.sequences) for one in group]
        for place, i in enumerate(index):
            tokens[i] = inner.tokens[place]
            if inner.trains is not None:
                trains[i] = inner.trains[place]
        return Advantages(tuple(tokens), trains=None if inner.trains is None else tuple(trains))

    def parts(self) -> Mapping[str, object]:
        return {"credit": self._credit}


def _taken(scores: Scores, index: np.ndarray) -> Scores:
    """Scores of the siblings at `index`."""

    def ragged(values: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        return tuple(values[i] for i in index)

    return Scores(
        scores.outcome[index],
        turns=None if scores.turns is None else ragged(scores.turns),
        channels={name: values[index] for name, values in scores.channels.items()},
        turn_channels={name: ragged(values) for name, values in scores.turn_channels.items()},
        eligible=None if scores.eligible is None else scores.eligible[index],
    )
