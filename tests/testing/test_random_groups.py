import numpy as np

from handaxe.core.records import check
from handaxe.testing.random_groups import random_group, random_scores


def test_random_groups_are_valid_ragged_and_reproducible():
    groups = [random_group(seed, features=("value", "old_logp"), off_mask=np.nan) for seed in range(40)]
    for group in groups:
        for one in group:
            check(one)
            for row in one.sequences:
                assert np.all(row.features["old_logp"][row.mask] < 0) and np.all(row.features["value"][row.mask] >= 0)
                assert np.isnan(row.features["value"][~row.mask]).all()
    assert {len(group) for group in groups} == {1, 2, 3, 4, 5}
    assert {len(one.sequences) for group in groups for one in group} == {1, 2, 3}
    assert {len(one.turns) for group in groups for one in group} == {1, 2, 3, 4}
    again = random_group(7, features=("value", "old_logp"))
    assert [one.num_tokens for one in again] == [one.num_tokens for one in groups[7]]
    assert len(random_group(0, size=9)) == 9


def test_random_scores_fit_the_group():
    group = random_group(5, size=30)
    scores = random_scores(group, 5)
    assert [len(own) for own in scores.turns] == [len(one.turns) for one in group]
    assert scores.outcome.shape == (30,) and 0 < scores.eligible.sum() < 30


def test_random_scores_can_have_ties():
    for size in range(1, 8):
        scores = random_scores(random_group(size, size=size), size, ties=True)
        assert sorted(scores.outcome) == [0.0] * -(-size // 2) + [1.0] * (size // 2)
        assert not any(own.any() for own in scores.turns)
    assert {tuple(random_scores(random_group(0, size=3), seed, ties=True).outcome) for seed in range(9)} == {
        (0, 0, 1),
        (0, 1, 0),
        (1, 0, 0),
    }
