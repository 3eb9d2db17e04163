"""Contract of pair makers."""

import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup
from handaxe.testing.make_records import make_group, make_rated, make_scores
from handaxe.testing.random_groups import random_group, random_scores

__all__ = ["check_pairs"]


def check_pairs(pairs: Pairs, *, cuts: bool = False, seeds: int = 6) -> None:
    """Check the contract of a maker of preference pairs on random batches of ragged groups.

        same task    both sides of a pair are rollouts of one task, from the given groups
        sides        the sides differ, both have policy tokens, strength is finite, >= 0
        purity       neither the list nor its contents are changed
        determinism  two calls are equal
        order        the order of siblings and of groups does not matter
        extremes     no group, a lone sibling, equal outcomes, and rollouts without tokens are accepted; equal outcomes
        make
                     no pair stronger than a tie

    Args:
        pairs: the maker.
        cuts: sides may be rollouts cut after a step, which are not among the given ones.
        seeds: number of random batches.

    Raises:
        AssertionError: a promise is broken; the message names it.
    """
    assert list(pairs([])) == [], "no group gives pairs"
    for seed in range(seeds):
        batch = _batch(seed)
        before = pickle.dumps(batch)
        found = list(pairs(batch))
        assert pickle.dumps(batch) == before, "the input is changed"
        given = {trajectory.id: trajectory for one in batch for trajectory in one.group}
        for pair in found:
            _check(pair)
            for one in (pair.chosen, pair.rejected):
                assert cuts or given.get(one.id) is one, f"rollout {one.id!r} of a pair is not in the given groups"
        assert _named(found) == _named(pairs(batch)), "two calls give different pairs"
        assert _named(found) == _named(pairs(batch[::-1])), "the order of groups changes the pairs"
        reversed_groups = [_reversed(one) for one in batch]
        assert _named(found) == _named(pairs(reversed_groups)), "the order of siblings changes the pairs"
        equal = [one.with_group(one.group, make_scores([0.5] * len(one.group))) for one in batch]
        assert not [pair for pair in pairs(equal) if pair.strength > 0], "equal outcomes make a pair that is no tie"


def _check(pair: Pair) -> None:
    assert pair.chosen.task.id == pair.rejected.task.id, "a pair is of two tasks"
    assert pair.chosen is not pair.rejected, "a rollout is preferred to itself"
    assert pair.chosen.num_tokens and pair.rejected.num_tokens, "a side of a pair has no policy token"
    assert np.isfinite(pair.strength) and pair.strength >= 0, f"the strength of a pair is {pair.strength}"


def _named(pairs: Sequence[Pair]) -> list[tuple[str, str, float]]:
    return sorted((pair.chosen.id, pair.rejected.id, round(pair.strength, 9)) for pair in pairs)


def _batch(seed: int) -> list[RatedGroup]:
    """Draw groups with separate ids, with a lone sibling and siblings without tokens."""
    rng, out = np.random.default_rng(seed), []
    for k in range(5):
        group = random_group(10 * seed + k, size=1 if k == 4 else None)
        named = [replace(t, id=f"{k}/{i}", sample=i) for i, t in enumerate(group)]
        group = make_group(trajectories=named, task=replace(group.task, id=f"task-{k}"))
        scores = replace(random_scores(group, seed), turns=None, turn_channels={})
        trained = (rng.random(len(group)) < 0.8).tolist()
        out.append(make_rated(group=group, scores=scores, trained=trained))
    return out


def _reversed(one: RatedGroup) -> RatedGroup:
    """Reverse the siblings of a group."""
    group = replace(one.group, trajectories=one.group.trajectories[::-1])
    scores = replace(
        one.scores,
        outcome=one.scores.outcome[::-1].copy(),
        channels={name: values[::-1].copy() for name, values in one.scores.channels.items()},
        eligible=None if one.scores.eligible is None else one.scores.eligible[::-1].copy(),
    )
    return make_rated(group=group, scores=scores, trained=one.trained[::-1].tolist())
