"""Contracts of selectors and of advantage transforms."""

import pickle
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from handaxe.core.isolated_copy import isolated_copy
from handaxe.core.protocols import AdvantageTransform, Selector, Stateful
from handaxe.core.records import Group, RatedGroup
from handaxe.selection.parts.dispositions import live
from handaxe.testing.credit import check_advantages
from handaxe.testing.make_records import make_group, make_rated, make_scores
from handaxe.testing.random_groups import random_group, random_scores

__all__ = ["check_selector", "check_transform"]


Arrays = Sequence[Sequence[np.ndarray]]


def check_selector(select: Selector, *, filters: bool = True, seeds: int = 6) -> None:
    """Check the contract of a selector on random batches of ragged groups.

        shapes       every returned group is well-formed: advantages [T] for each sequence, finite and 0 off the mask,
                     trained [G] bool
        purity       neither the list nor its contents are changed
        determinism  two calls are equal
        masked       NaN in features at tokens of others changes nothing
        extremes     no group, groups of one sibling, of equal outcomes, without a trained sibling are accepted
        order        (filters) the order of groups does not matter, and returned groups keep their order
        siblings     ids within a group are unique
        memory       (`core.protocols.Stateful`) state_dict holds the whole state: a copy restored from it is equivalent

    A dropped group (`live` False) may be returned for its dispositions, and counts as left out; nothing of it trains.
    A filter must also invent nothing: each returned group was given, no sibling trains that did not before, unchanged
    groups keep their scores, and value targets (`returns`), trained tokens (`trains`) and `part` are unchanged.

    Args:
        select: unused selector. A Stateful one is shown a batch, and its state is restored before every call; any other
            must not have state.
        filters: False for selectors that replay, replace or generate, whose groups may be new.
        seeds: number of random batches.

    Raises:
        AssertionError: a promise is broken; the message names it.
    """
    untouched, pure = isolated_copy(select), _from_one_state(select)
    for batch, selected in _results(pure, "selector", seeds):
        if filters:
            _check_filter(pure, batch, selected)
    _check_memory(select, untouched, seeds)


def check_transform(transform: AdvantageTransform, *, seeds: int = 6) -> None:
    """Check the contract of an advantage transform on random batches of ragged groups.

    The contract is the selector's. In addition, every group is returned with its scores, its trained siblings
    (`trained`, `part`) and its value targets (`returns`): only `advantages.tokens` may differ, and tokens may stop
    training (`advantages.trains`).

    Args:
        transform: unused transform. A Stateful one is shown a batch, and its state is restored before every call; any
            other must not have state.
        seeds: number of random batches.

    Raises:
        AssertionError: a promise is broken; the message names it.
    """
    untouched, pure = isolated_copy(transform), _from_one_state(transform)
    for batch, found in _results(pure, "transform", seeds):
        assert len(found) == len(batch), f"the transform returns {len(found)} of {len(batch)} groups"
        for new, old in zip(found, batch, strict=True):
            assert new.group is old.group, "the transform returns other groups, or another order"
            assert new.scores is old.scores, "the transform changes scores"
            assert np.array_equal(new.trained, old.trained), "the transform changes the trained siblings"
            _check_unchanged(new, old, "the transform", narrower=True)
        reordered = list(pure(batch[::-1]))[::-1]
        _check_same(reordered, found, "the order of groups changes the transform's results")
    _check_memory(transform, untouched, seeds)


def _from_one_state(select: Selector) -> Selector:
    """Wrap a Stateful selector: shown a batch first, then restored before each call."""
    if not isinstance(select, Stateful):
        return select
    select(_batch(-1))
    state, stateful = deepcopy(select.state_dict()), select

    def restored(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        stateful.load_state_dict(deepcopy(state))
        return list(select(rated))

    return restored


def _check_memory(select: Selector, untouched: Selector, seeds: int) -> None:
    if not (isinstance(select, Stateful) and isinstance(untouched, Stateful)):
        return
    select(_batch(seeds))
    state = select.state_dict()
    try:
        untouched.load_state_dict(deepcopy(state))
        np.testing.assert_equal(untouched.state_dict(), state)
    except AssertionError as error:
        raise AssertionError(f"load_state_dict does not restore the whole state: {error}") from error
    for seed in (seeds + 1, seeds + 2):
        original, restored = live(select(_batch(seed))), live(untouched(_batch(seed)))
        _check_same(original, restored, "it has state outside its state_dict")


def _results(component: Selector, name: str, seeds: int) -> Iterator[tuple[list[RatedGroup], list[RatedGroup]]]:
    """Yield random batches with the results; checks the common contract of selectors and transforms."""
    assert list(component([])) == [], f"the {name} makes groups from no group"
    for seed in range(seeds):
        batch = _batch(seed)
        before = pickle.dumps(batch)
        found = list(component(batch))
        assert pickle.dumps(batch) == before, f"the {name} changed its input"
        for one in found:
            _check_rated(one)
        found = live(found)
        _check_same(found, live(component(batch)), f"two calls of the {name} differ")
        _check_same(found, live(component(_batch(seed, off_mask=float("nan")))), "features off the mask matter")
        yield batch, found


def _batch(seed: int, off_mask: float = 0.0) -> list[RatedGroup]:
    """Draw groups, with equal outcomes, a lone sibling, or no trained sibling; with separate tasks, and some with value
    targets, trained tokens or a part.
    """
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
    """Draw [T] for each sequence, 0 at tokens of others."""
    return tuple(
        tuple((np.where(s.mask, rng.random(len(s)), 0.0) + 0.4).round().astype(kind) * s.mask for s in one.sequences)
        for one in group
    )


def _check_unchanged(one: RatedGroup, old: RatedGroup, who: str, *, narrower: bool = False) -> None:
    """Check part and value targets, and the trained tokens; `narrower` allows a subset."""
    assert one.part == old.part, f"{who} changes or loses `part`: use dataclasses.replace"
    returns, before = one.advantages.returns, old.advantages.returns
    assert (returns is None) == (before is None), f"{who} loses or invents advantages.returns: use dataclasses.replace"
    assert returns is None or before is None or _equal(returns, before), f"{who} changes advantages.returns"
    trains, before = one.advantages.trains, old.advantages.trains
    changed = f"{who} loses or invents advantages.trains: use dataclasses.replace"
    if narrower and trains is not None:
        given = before or tuple(tuple(sequence.mask for sequence in one.sequences) for one in old.group)
        wider = any(np.any(x & ~y) for x, y in _pairs(trains, given))
        assert not wider, f"{who} trains tokens that did not train"
        return
    assert (trains is None) == (before is None), changed
    assert trains is None or before is None or _equal(trains, before), f"{who} changes advantages.trains"


def _pairs(left: Arrays, right: Arrays) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return (pair for a, b in zip(left, right, strict=True) for pair in zip(a, b, strict=True))


def _equal(left: Arrays, right: Arrays) -> bool:
    return all(np.array_equal(x, y) for x, y in _pairs(left, right))


def _check_rated(one: RatedGroup) -> None:
    ids = [trajectory.id for trajectory in one.group]
    assert len(set(ids)) == len(ids), f"two siblings of task {one.group.task.id!r} share an id"
    check_advantages(one.advantages, one.group)
    assert np.shape(one.trained) == (len(one.group),), "trained does not have one entry a sibling"
    assert np.asarray(one.trained).dtype == bool, "trained is not bool"
    assert np.shape(one.scores.outcome) == (len(one.group),), "scores do not fit the group"


def _check_same(left: Sequence[RatedGroup], right: Sequence[RatedGroup], message: str) -> None:
    assert [one.group.task.id for one in left] == [one.group.task.id for one in right], message
    for a, b in zip(left, right, strict=True):
        assert np.array_equal(a.trained, b.trained), message
        for x, y in zip(a.advantages.tokens, b.advantages.tokens, strict=True):
            assert all(np.allclose(u, v, rtol=1e-9, atol=1e-9) for u, v in zip(x, y, strict=True)), message


def _check_filter(select: Selector, batch: list[RatedGroup], kept: list[RatedGroup]) -> None:
    given = {one.group.task.id: one for one in batch}
    ids = [one.group.task.id for one in kept]
    assert ids == [name for name in given if name in ids], "the selected groups are in another order, or some are new"
    for one in kept:
        old = given[one.group.task.id]
        assert one.group is old.group, "a filter returns another group than it was given"
        assert one.scores is old.scores, "a filter changes scores"
        assert not np.any(one.trained & ~old.trained), "a sibling trains that did not before"
        _check_unchanged(one, old, "the selector")
    other = {one.group.task.id: one for one in live(select(batch[::-1]))}
    assert sorted(other) == sorted(ids), "the order of groups changes which of them are selected"
    _check_same([other[name] for name in ids], kept, "the order of groups changes the results of the selector")
