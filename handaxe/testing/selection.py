"""The contract that every selector keeps, as one function: give it yours."""

import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.records import Rated
from handaxe.slots import Selector
from handaxe.testing.credit import check_advantages
from handaxe.testing.ragged import random_group, random_scores
from handaxe.testing.records import make_group, make_rated, make_scores

__all__ = ["check_selector"]


def check_selector(select: Selector, *, filters: bool = True, seeds: int = 6) -> None:
    """Check that a selector keeps its contract, on random batches of ragged groups.

        shapes       every group it returns is well formed: advantages [T] for each sequence, finite and 0 off the mask,
                     trained [G] bool
        purity       neither the list nor anything in it is changed
        determinism  asked twice, it says the same
        masked       features that are NaN where the policy did not write change nothing
        extremes     no group at all, groups of one sibling, of equal outcomes, of nobody trained are all fine
        order        (filters) groups in another order fare the same, and what is kept keeps its order

    and of a filter, that it invents nothing: each group it returns is one it was given, nobody trains who did not
    before, and groups that the filter does not change are not copied with other scores.

    Args:
        select: what to check. It must not remember anything from one batch to the next.
        filters: False for what replays, replaces or generates, whose groups need not be among those given.
        seeds: how many random batches.

    Raises:
        AssertionError: saying which promise is broken.
    """
    assert list(select([])) == [], "from no group the selector makes some"
    for seed in range(seeds):
        batch = _batch(seed)
        before = pickle.dumps(batch)
        kept = list(select(batch))
        assert pickle.dumps(batch) == before, "the selector changed what it was given"
        for one in kept:
            _check_rated(one)
        _check_same(kept, list(select(batch)), "asked twice, the selector says two things")
        _check_same(kept, list(select(_batch(seed, off_mask=float("nan")))), "features off the mask matter")
        if filters:
            _check_filter(select, batch, kept)


def _batch(seed: int, off_mask: float = 0.0) -> list[Rated]:
    """Random groups, one of equal outcomes, one lone sibling, one that trains nobody; each with a task of its own."""
    rng, out = np.random.default_rng(seed), []
    for k in range(5):
        group = random_group(10 * seed + k, size=1 if k == 4 else None, features=("value",), off_mask=off_mask)
        task = replace(group.task, id=f"task-{k}")
        group = make_group(trajectories=group.trajectories, task=task)
        scores = make_scores([1.0] * len(group)) if k == 1 else random_scores(group, seed)
        trained = [False] * len(group) if k == 2 else (rng.random(len(group)) < 0.8).tolist()
        out.append(make_rated(group=group, scores=scores, trained=trained))
    return out


def _check_rated(one: Rated) -> None:
    check_advantages(one.advantages, one.group)
    assert np.shape(one.trained) == (len(one.group),), "trained does not have one entry a sibling"
    assert np.asarray(one.trained).dtype == bool, "trained is not bool"
    assert np.shape(one.scores.outcome) == (len(one.group),), "scores do not fit the group"


def _check_same(left: Sequence[Rated], right: Sequence[Rated], message: str) -> None:
    assert [one.group.task.id for one in left] == [one.group.task.id for one in right], message
    for a, b in zip(left, right, strict=True):
        assert np.array_equal(a.trained, b.trained), message
        for x, y in zip(a.advantages.tokens, b.advantages.tokens, strict=True):
            assert all(np.allclose(u, v, rtol=1e-9, atol=1e-9) for u, v in zip(x, y, strict=True)), message


def _check_filter(select: Selector, batch: list[Rated], kept: list[Rated]) -> None:
    given = {one.group.task.id: one for one in batch}
    ids = [one.group.task.id for one in kept]
    assert ids == [name for name in given if name in ids], "the groups kept are not in their order, or some are new"
    for one in kept:
        old = given[one.group.task.id]
        assert one.group is old.group, "a filter returns another group than it was given"
        assert one.scores is old.scores, "a filter changes scores"
        assert not np.any(one.trained & ~old.trained), "a sibling trains that did not before"
    other = {one.group.task.id: one for one in select(batch[::-1])}
    assert sorted(other) == sorted(ids), "with groups in another order, others are kept"
    _check_same([other[name] for name in ids], kept, "with groups in another order, they fare differently")
