"""The contracts that every selector and every shape keeps, as one function each: give it yours."""

import pickle
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Selector, Shape, Stateful
from handaxe.core.records import Group, Rated
from handaxe.testing.copies import untouched_copy
from handaxe.testing.credit import check_advantages
from handaxe.testing.ragged import random_group, random_scores
from handaxe.testing.records import make_group, make_rated, make_scores

__all__ = ["check_selector", "check_shape"]


def check_selector(select: Selector, *, filters: bool = True, seeds: int = 6) -> None:
    """Check that a selector keeps its contract, on random batches of ragged groups.

        shapes       every group it returns is well formed: advantages [T] for each sequence, finite and 0 off the mask,
                     trained [G] bool
        purity       neither the list nor anything in it is changed
        determinism  asked twice, it says the same
        masked       features that are NaN where the policy did not write change nothing
        extremes     no group at all, groups of one sibling, of equal outcomes, without a trained sibling are all fine
        order        (filters) groups in another order fare the same, and what is kept keeps its order
        siblings     ids within a group are unlike
        memory       (`slots.Stateful`) all that it remembers is what its state_dict tells, which an untouched copy
                     takes up

    and of a filter, that it invents nothing: each group it returns is one it was given, no sibling trains that did
    not before, groups that the filter does not change are not copied with other scores, and value targets (`returns`),
    the choice of tokens (`trains`) and `part` stay as they are.

    Args:
        select: what to check, and not asked anything before. A Stateful one is shown a batch, and is given back the
            state it then has before every question; any other must not remember anything from one batch to the next.
        filters: False for what replays, replaces or generates, whose groups need not be among those given.
        seeds: how many random batches.

    Raises:
        AssertionError: saying which promise is broken.
    """
    untouched, asked = untouched_copy(select), _from_one_state(select)
    for batch, kept in _asked(asked, "selector", seeds):
        if filters:
            _check_filter(asked, batch, kept)
    _check_memory(select, untouched, seeds)


def check_shape(shape: Shape, *, seeds: int = 6) -> None:
    """Check that a shape keeps its contract, on random batches of ragged groups: that of a selector, and that it gives
    back every group with its scores, its choice of what trains (`trained`, `trains`, `part`) and its value targets
    (`returns`), so that only `advantages.tokens` may differ.

    Args:
        shape: what to check, and not asked anything before. A Stateful one is shown a batch, and is given back the
            state it then has before every question; any other must not remember anything from one batch to the next.
        seeds: how many random batches.

    Raises:
        AssertionError: saying which promise is broken.
    """
    untouched, asked = untouched_copy(shape), _from_one_state(shape)
    for batch, shaped in _asked(asked, "shape", seeds):
        assert len(shaped) == len(batch), f"the shape gives back {len(shaped)} of {len(batch)} groups"
        for one, old in zip(shaped, batch, strict=True):
            assert one.group is old.group, "the shape gives back other groups, or in another order"
            assert one.scores is old.scores, "the shape changes scores"
            assert np.array_equal(one.trained, old.trained), "the shape changes which siblings train"
            _check_kept(one, old, "the shape")
        other = list(asked(batch[::-1]))[::-1]
        _check_same(other, shaped, "with groups in another order, they are shaped differently")
    _check_memory(shape, untouched, seeds)


def _from_one_state(select: Selector) -> Selector:
    """A Stateful selector, shown a batch and put back to the state it then has before each question."""
    if not isinstance(select, Stateful):
        return select
    select(_batch(-1))
    state, stateful = deepcopy(select.state_dict()), select

    def asked(rated: Sequence[Rated]) -> list[Rated]:
        stateful.load_state_dict(deepcopy(state))
        return list(select(rated))

    return asked


def _check_memory(select: Selector, untouched: Selector, seeds: int) -> None:
    if not (isinstance(select, Stateful) and isinstance(untouched, Stateful)):
        return
    select(_batch(seeds))
    state = select.state_dict()
    try:
        untouched.load_state_dict(deepcopy(state))
        np.testing.assert_equal(untouched.state_dict(), state)
    except AssertionError as error:
        raise AssertionError(f"load_state_dict does not take back the whole state: {error}") from error
    for seed in (seeds + 1, seeds + 2):
        ours, theirs = list(select(_batch(seed))), list(untouched(_batch(seed)))
        _check_same(ours, theirs, "it remembers more than its state_dict tells")


def _asked(part: Selector, name: str, seeds: int) -> Iterator[tuple[list[Rated], list[Rated]]]:
    """Random batches with what the part made of them; checks what selectors and shapes have in common."""
    assert list(part([])) == [], f"from no group the {name} makes some"
    for seed in range(seeds):
        batch = _batch(seed)
        before = pickle.dumps(batch)
        found = list(part(batch))
        assert pickle.dumps(batch) == before, f"the {name} changed what it was given"
        for one in found:
            _check_rated(one)
        _check_same(found, list(part(batch)), f"asked twice, the {name} says two things")
        _check_same(found, list(part(_batch(seed, off_mask=float("nan")))), "features off the mask matter")
        yield batch, found


def _batch(seed: int, off_mask: float = 0.0) -> list[Rated]:
    """Random groups, one of equal outcomes, one lone sibling, one of which no sibling trains; each with a task of its
    own, and some with value targets, a choice of tokens, or a part of their own."""
    rng, out = np.random.default_rng(abs(seed)), []
    for k in range(5):
        group = random_group(10 * seed + k, size=1 if k == 4 else None, features=("value",), off_mask=off_mask)
        task = replace(group.task, id=f"task-{k}")
        group = make_group(trajectories=group.trajectories, task=task)
        scores = make_scores([1.0] * len(group)) if k == 1 else random_scores(group, seed)
        trained = [False] * len(group) if k == 2 else (rng.random(len(group)) < 0.8).tolist()
        one = make_rated(group=group, scores=scores, trained=trained)
        advantages = replace(
            one.advantages,
            returns=_random(rng, group, np.float64) if seed % 2 else None,
            trains=_random(rng, group, np.bool_) if k % 2 else None,
        )
        out.append(replace(one, advantages=advantages, part=k % 3))
    return out


def _random(rng: np.random.Generator, group: Group, kind: type) -> tuple[tuple[np.ndarray, ...], ...]:
    """[T] a sequence, 0 wherever the policy did not write."""
    return tuple(
        tuple((np.where(s.mask, rng.random(len(s)), 0.0) + 0.4).round().astype(kind) * s.mask for s in one.sequences)
        for one in group
    )


def _check_kept(one: Rated, old: Rated, who: str) -> None:
    assert one.part == old.part, f"{who} changes or loses `part`: use dataclasses.replace"
    for name, now, before in (
        ("returns", one.advantages.returns, old.advantages.returns),
        ("trains", one.advantages.trains, old.advantages.trains),
    ):
        assert (now is None) == (before is None), f"{who} loses or invents advantages.{name}: use dataclasses.replace"
        if now is not None and before is not None:
            same = [np.array_equal(x, y) for a, b in zip(now, before, strict=True) for x, y in zip(a, b, strict=True)]
            assert all(same), f"{who} changes advantages.{name}"


def _check_rated(one: Rated) -> None:
    ids = [trajectory.id for trajectory in one.group]
    assert len(set(ids)) == len(ids), f"two siblings of task {one.group.task.id!r} share an id"
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
        _check_kept(one, old, "the selector")
    other = {one.group.task.id: one for one in select(batch[::-1])}
    assert sorted(other) == sorted(ids), "with groups in another order, others are kept"
    _check_same([other[name] for name in ids], kept, "with groups in another order, they fare differently")
