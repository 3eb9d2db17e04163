from dataclasses import replace

import numpy as np
import pytest

from handaxe.advantages.batch_whiten import batch_whiten
from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, RatedGroup
from handaxe.credit.return_to_go import return_to_go
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import gather, scatter, token_turn_indices
from handaxe.testing.make_records import make_group, make_rated
from handaxe.testing.random_groups import random_group

CONTRACT = [{}, {"centre": False, "std": "population"}, {"within": "turn"}]
BIAS = [BiasCase("batch_whiten() of return_to_go()", return_to_go, batch_whiten, groups=2)]


def flat(rated):
    return [gather(one, r.advantages.tokens[i]) for r in rated for i, one in enumerate(r.group) if r.trained[i]]


def test_batch_whiten_matches_the_docstring_example():
    batch = [make_rated(group=make_group(layouts=["Utp"] * n), outcome=o) for n, o in ((2, [1, 1]), (1, [0]))]
    np.testing.assert_allclose(np.concatenate(flat(batch_whiten()(batch))), [0.57735, 0.57735, -1.1547], atol=1e-5)


@pytest.mark.parametrize("std", ["sample", "population"])
@pytest.mark.parametrize("centre", [True, False])
def test_batch_whiten_equals_a_slow_loop_over_all_tokens(std, centre):
    rng = np.random.default_rng(0)
    batch = []
    for seed in range(4):
        group = random_group(seed)
        trained = [True, *(rng.random(len(group) - 1) < 0.7)]
        batch.append(make_rated(group=group, outcome=rng.normal(size=len(group)).tolist(), trained=trained))
    before = np.concatenate(flat(batch))
    n = len(before)
    mean = sum(before) / n
    var = sum((x - mean) ** 2 for x in before) / (n - (std == "sample"))
    slow = [(x - mean) / (var + 0.25) ** 0.5 + (0 if centre else mean) for x in before]
    after = batch_whiten(std=std, centre=centre, eps=0.25)(batch)
    np.testing.assert_allclose(np.concatenate(flat(after)), slow, atol=1e-12)


def test_trajectories_weigh_by_their_tokens():
    batch = [make_rated(group=make_group(layouts=["Utppp", "Utp"]), outcome=[1, 0])]
    (after,) = batch_whiten(eps=0.0, std="population")(batch)
    long, short = (gather(one, after.advantages.tokens[i]) for i, one in enumerate(after.group))
    np.testing.assert_allclose(long, 0.25 / np.sqrt(3 / 16))
    np.testing.assert_allclose(short, -0.75 / np.sqrt(3 / 16))


def test_untrained_rollouts_are_neither_counted_nor_changed():
    batch = [make_rated(group=make_group(layouts=["Utp"] * 3), outcome=[1, 0, 50], trained=[True, True, False])]
    (after,) = batch_whiten()(batch)
    assert after.advantages.tokens[2][0].tolist() == [0, 0, 50]
    np.testing.assert_allclose(np.concatenate(flat([after])), [2**-0.5, -(2**-0.5)], atol=1e-6)


def test_value_targets_are_unchanged():
    group = make_group(layouts=["Utp", "Utp"])
    one = make_rated(group=group, outcome=[1, 0])
    targets = ((np.array([0, 0, 7.0]),), (np.array([0, 0, 8.0]),))
    (after,) = batch_whiten()(
        [RatedGroup.of(group, one.scores, Advantages(one.advantages.tokens, targets), trained=one.trained)]
    )
    assert after.advantages.returns is targets


def test_equal_advantages_become_zero_or_stay_without_centring():
    batch = [make_rated(group=make_group(layouts=["Utp", "Utpp"]), outcome=[0.1, 0.1 + 0.2 - 0.2])]
    assert not np.concatenate(flat(batch_whiten()(batch))).any()
    np.testing.assert_allclose(np.concatenate(flat(batch_whiten(centre=False)(batch))), 0.1)


def test_untrained_tokens_are_neither_counted_nor_changed():
    group = make_group(layouts=["Utpp", "Utp"])
    one = make_rated(group=group, outcome=[1, 0])
    tokens = ((np.array([0, 0, 1.0, 50.0]),), (np.array([0, 0, 0.0]),))
    trains = ((np.array([False, False, True, False]),), (np.array([False, False, True]),))
    advantages = replace(one.advantages, tokens=tokens, trains=trains)
    (after,) = batch_whiten()([replace(one, advantages=advantages)])
    np.testing.assert_allclose(after.advantages.tokens[0][0], [0, 0, 2**-0.5, 50], atol=1e-6)
    np.testing.assert_allclose(after.advantages.tokens[1][0], [0, 0, -(2**-0.5)], atol=1e-6)
    assert after.advantages.trains is trains


def test_all_rows_of_trained_rollouts_are_whitened():
    one = make_rated(
        group=make_group(layouts=["Utpp", ["Utp", "Utp"], "Utp"]), outcome=[1, 0, 7], trained=[True, True, False]
    )
    left_out = np.array([True, True, True, False])
    trains = ((left_out,), (np.ones(3, bool), np.ones(3, bool)), (np.ones(3, bool),))
    one = replace(one, advantages=replace(one.advantages, trains=trains))
    (after,) = batch_whiten(eps=0.0)([one])
    a = 3**-0.5  # of 1, 0, 0
    found = [array.tolist() for own in after.advantages.tokens for array in own]
    wanted = [[0, 0, 2 * a, 1], [0, 0, -a], [0, 0, -a], [0, 0, 7]]
    assert all(x == pytest.approx(y) for x, y in zip(found, wanted, strict=True))
    assert after.advantages.trains is trains
    everything = tuple(tuple(np.ones(len(s), bool) for s in t.sequences) for t in one.group)
    for trains in (None, everything):
        same = replace(one, advantages=replace(one.advantages, trains=trains))
        (first,), (second,) = (
            batch_whiten()([same]),
            batch_whiten()([replace(one, advantages=Advantages(one.advantages.tokens))]),
        )
        for x, y in zip(first.advantages.tokens, second.advantages.tokens, strict=True):
            assert all(np.array_equal(u, v) for u, v in zip(x, y, strict=True))


def test_whitening_by_turn_removes_the_mean_of_each_turn():
    group = make_group(layouts=["UtppUtp", "UtpUtp"])
    rated = make_rated(group=group, outcome=[1, 0])
    steps = ((5.0, 1.0), (3.0, 0.0))
    tokens = tuple(scatter(one, np.array(own)[token_turn_indices(one)]) for one, own in zip(group, steps, strict=True))
    rated = replace(rated, advantages=replace(rated.advantages, tokens=tokens))
    (after,) = batch_whiten(within="turn")([rated])
    first, second = (gather(one, after.advantages.tokens[i]) for i, one in enumerate(group))
    # turn 0: 5, 5, 3 and turn 1: 1, 0
    np.testing.assert_allclose(first, [0.57735, 0.57735, 0.70711], atol=1e-5)
    np.testing.assert_allclose(second, [-1.1547, -0.70711], atol=1e-5)


def test_whitening_by_turn_equals_a_slow_loop_over_turns():
    batch = [make_rated(group=random_group(seed)) for seed in range(4)]
    rng = np.random.default_rng(3)
    batch = [
        replace(
            r,
            advantages=replace(
                r.advantages, tokens=tuple(scatter(one, rng.normal(size=one.num_tokens)) for one in r.group)
            ),
        )
        for r in batch
    ]
    by_turn = {}
    for r in batch:
        for i, one in enumerate(r.group):
            if r.trained[i]:
                for k, value in zip(token_turn_indices(one), gather(one, r.advantages.tokens[i]), strict=True):
                    by_turn.setdefault(k, []).append(value)
    after = batch_whiten(within="turn", eps=0.25)(batch)
    for r, new in zip(batch, after, strict=True):
        for i, one in enumerate(r.group):
            old, found = gather(one, r.advantages.tokens[i]), gather(one, new.advantages.tokens[i])
            if not r.trained[i]:
                assert found.tolist() == old.tolist()
                continue
            for k, x, y in zip(token_turn_indices(one), old, found, strict=True):
                own = np.array(by_turn[k])
                want = 0.0 if len(own) < 2 else (x - own.mean()) / np.sqrt(own.var(ddof=1) + 0.25)
                assert y == pytest.approx(want, abs=1e-12)


def test_unknown_class_of_tokens_raises():
    with pytest.raises(InputError, match="within='batch' or 'turn'"):
        batch_whiten(within="group")
