"""The contract of pairs, as one function: give it yours."""

import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, Rated
from handaxe.testing.ragged import random_group, random_scores
from handaxe.testing.records import make_group, make_rated, make_scores

__all__ = ["check_pairs"]


def check_pairs(pairs: Pairs, *, cuts: bool = False, seeds: int = 6) -> None:
    """Check that a maker of pairs keeps its contract, on random batches of ragged groups.

        same task    both sides of a pair are attempts at one task, of the groups that were given
        sides        they are not the same attempt, both hold tokens that the policy wrote, strength is finite, >= 0
        purity       neither the list nor anything in it is changed
        determinism  asked twice, it says the same
        order        siblings, and groups, in another order make the same pairs
        extremes     no group, a lone sibling, groups of equal outcomes, attempts without a token are all fine; equal
                     outcomes make no pair that is stronger than a tie

    Args:
        pairs: what to check.
        cuts: its sides may be attempts that are cut after a step, which need not be among those given.
        seeds: how many random batches.

    Raises:
        AssertionError: saying which promise is broken.
    """
    assert list(pairs([])) == [], "from no group come pairs"
    for seed in range(seeds):
        batch = _batch(seed)
        before = pickle.dumps(batch)
        found = list(pairs(batch))
        assert pickle.dumps(batch) == before, "what was given is changed"
        given = {trajectory.id: trajectory for one in batch for trajectory in one.group}
        for pair in found:
            _check(pair)
            for one in (pair.chosen, pair.rejected):
                assert cuts or given.get(one.id) is one, f"attempt {one.id!r} of a pair is not among those given"
        assert _named(found) == _named(pairs(batch)), "asked twice, there are other pairs"
        assert _named(found) == _named(pairs(batch[::-1])), "with groups in another order, there are other pairs"
        turned = [_turned(one) for one in batch]
        assert _named(found) == _named(pairs(turned)), "with siblings in another order, there are other pairs"
        equal = [replace(one, scores=make_scores([0.5] * len(one.group))) for one in batch]
        assert not [pair for pair in pairs(equal) if pair.strength > 0], "equal outcomes make a pair that is no tie"


def _check(pair: Pair) -> None:
    assert pair.chosen.task.id == pair.rejected.task.id, "a pair is of two tasks"
    assert pair.chosen is not pair.rejected, "an attempt is preferred to itself"
    assert pair.chosen.num_tokens and pair.rejected.num_tokens, "a side of a pair holds nothing that the policy wrote"
    assert np.isfinite(pair.strength) and pair.strength >= 0, f"the strength of a pair is {pair.strength}"


def _named(pairs: Sequence[Pair]) -> list[tuple[str, str, float]]:
    return sorted((pair.chosen.id, pair.rejected.id, round(pair.strength, 9)) for pair in pairs)


def _batch(seed: int) -> list[Rated]:
    """Random groups, a lone sibling, one sibling in a while that wrote nothing; ids of their own."""
    rng, out = np.random.default_rng(seed), []
    for k in range(5):
        group = random_group(10 * seed + k, size=1 if k == 4 else None)
        named = [replace(t, id=f"{k}/{i}", sample=i) for i, t in enumerate(group)]
        group = make_group(trajectories=named, task=replace(group.task, id=f"task-{k}"))
        scores = replace(random_scores(group, seed), turns=None, turn_channels={})
        trained = (rng.random(len(group)) < 0.8).tolist()
        out.append(make_rated(group=group, scores=scores, trained=trained))
    return out


def _turned(one: Rated) -> Rated:
    """The group with its siblings in the opposite order."""
    group = replace(one.group, trajectories=one.group.trajectories[::-1])
    scores = replace(
        one.scores,
        outcome=one.scores.outcome[::-1].copy(),
        channels={name: values[::-1].copy() for name, values in one.scores.channels.items()},
        eligible=None if one.scores.eligible is None else one.scores.eligible[::-1].copy(),
    )
    return make_rated(group=group, scores=scores, trained=one.trained[::-1].tolist())
