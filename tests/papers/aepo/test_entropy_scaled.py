from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import gather
from handaxe.papers.aepo.entropy_scaled import entropy_scaled
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.testing.random_groups import random_group

CONTRACT = [{"feature": "value"}, {"feature": "value", "weight": 3.0}]
BIAS = [BiasCase("entropy_scaled() of leave_one_out()", leave_one_out, entropy_scaled, groups=2)]


def rated(entropies, advantages, **options):
    members = [make_trajectory(layouts=["U" + "p" * len(own)], features={"entropy": own}) for own in entropies]
    made = make_rated(group=make_group(trajectories=members), outcome=[0.0] * len(members), **options)
    tokens = tuple((np.array([0.0, *own]),) for own in advantages)
    return replace(made, advantages=Advantages(tokens))


def test_entropy_scaled_matches_its_example():
    (one,) = entropy_scaled()([rated([[1, 2, 3]], [[0.5] * 3])])
    np.testing.assert_allclose(one.advantages.tokens[0][0], [0, 0.4, 0.5, 0.6])


def test_statistics_are_over_the_trained_tokens_of_the_batch():
    left_out = rated([[900.0]], [[1.0]], trained=[False])
    first, second, third = entropy_scaled()([rated([[1]], [[0.5]]), rated([[2], [3]], [[0.5], [-0.5]]), left_out])
    assert first.advantages.tokens[0][0][1] == pytest.approx(0.4)
    assert [own[0][1] for own in second.advantages.tokens] == pytest.approx([0.5, -0.6])
    assert third.advantages.tokens[0][0].tolist() == [0, 1]


def test_equal_entropies_and_a_single_token_change_nothing():
    for entropies in ([[0.1 + 0.2, 0.3]], [[7.0]]):
        before = [[0.25] * len(own) for own in entropies]
        (one,) = entropy_scaled()([rated(entropies, before)])
        assert one.advantages.tokens[0][0].tolist() == [0, *before[0]]


@pytest.mark.parametrize("seed", range(10))
def test_entropy_scaled_matches_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    batch = [make_rated(group=random_group(10 * seed + k, features=("entropy",)), scores=None) for k in range(3)]
    batch = [replace(one, trained=rng.random(len(one.group)) < 0.8) for one in batch]
    values = [
        float(h)
        for one in batch
        for i, t in enumerate(one.group)
        if one.trained[i]
        for h in gather(t, [s.features["entropy"] for s in t.sequences])
    ]
    mean = sum(values) / len(values)
    std = (sum((h - mean) ** 2 for h in values) / (len(values) - 1)) ** 0.5
    for one, new in zip(batch, entropy_scaled(weight=0.3)(batch)):
        for i, t in enumerate(one.group):
            h = gather(t, [s.features["entropy"] for s in t.sequences])
            slow = gather(t, one.advantages.tokens[i]) * ((1 + 0.3 * (h - mean) / std) if one.trained[i] else 1)
            np.testing.assert_allclose(gather(t, new.advantages.tokens[i]), slow, atol=1e-12)


def test_a_missing_feature_is_named():
    made = make_rated(group=make_group(layouts=["Up"]), outcome=[1.0])
    with pytest.raises(InputError, match="pass annotate=\\('entropy'"):
        entropy_scaled()([made])
