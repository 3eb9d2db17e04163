import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Disposition
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.selection.parts.dispositions import live
from handaxe.testing.make_records import make_group, make_rated, make_scores

CONTRACT = [{}, {"tolerance": 0.5, "std": "population"}]


def kept(select, *outcomes):
    batch = [make_rated(outcome=outcome) for outcome in outcomes]
    ids = [id(one) for one in live(select(batch))]
    return [id(one) in ids for one in batch]


def test_drop_equal_groups_keeps_groups_of_differing_rewards():
    assert kept(drop_equal_groups(), [1, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]) == [True, False, False]


def test_dropped_groups_are_returned_untrained_with_a_disposition():
    found, dropped = drop_equal_groups()([make_rated(outcome=[1, 0]), make_rated(outcome=[1, 1])])
    assert found.dispositions == ((), ()) and found.trained.all()
    assert dropped.dispositions == ((Disposition("dropped", "drop_equal_groups"),),) * 2
    assert not dropped.live and not dropped.trained.any()


def test_binary_rewards_keep_groups_with_both_outcomes():
    rng = np.random.default_rng(0)
    groups = [(rng.random(4) < 0.4).astype(float).tolist() for _ in range(30)]
    assert kept(drop_equal_groups(), *groups) == [0 < sum(own) < 4 for own in groups]


def test_tolerance_bounds_the_standard_deviation():
    outcome = [0.5, 0.5014]  # sample std 0.00099, population std 0.0007
    assert kept(drop_equal_groups(), outcome) == [True]
    assert kept(drop_equal_groups(tolerance=1e-3), outcome, [0, 1]) == [False, True]
    assert kept(drop_equal_groups(tolerance=8e-4), outcome) == [True]
    assert kept(drop_equal_groups(tolerance=8e-4, std="population"), outcome) == [False]
    with pytest.raises(InputError, match="tolerance"):
        drop_equal_groups(tolerance=-1)


def test_rounding_lone_and_unscored_siblings_make_no_difference():
    assert kept(drop_equal_groups(), [0.1, 0.1 + 0.2 - 0.2], [1], []) == [False, False, False]
    unscored = make_rated(group=make_group(size=3), scores=make_scores([1, np.nan, 1]), advantage=[0] * 3)
    assert live(drop_equal_groups()([unscored])) == []


def test_a_channel_replaces_the_reward():
    scores = make_scores([0.9, 0.3], channels={"correct": [1, 1]})
    one = make_rated(group=make_group(size=2), scores=scores)
    assert drop_equal_groups()([one]) == [one]
    assert live(drop_equal_groups(channel="correct")([one])) == []


def test_without_the_channel_the_total_reward_decides():
    one = make_rated(group=make_group(size=2), scores=make_scores([0.9, 0.3], channels={"correct": [1, 1]}))
    same = make_rated(group=make_group(size=2), scores=make_scores([0.3, 0.3], channels={"correct": [1, 0]}))
    assert live(drop_equal_groups(channel="right")([one, same])) == [one]


def test_a_nested_channel_is_used_if_it_is_the_only_one():
    scores = make_scores([0.9, 0.3], channels={"base/correct": [1, 1], "base": [0.5, 1]})
    one = make_rated(group=make_group(size=2), scores=scores)
    assert live(drop_equal_groups(channel="correct")([one])) == []
    twice = make_scores([0.9, 0.3], channels={"a/correct": [1, 1], "b/correct": [0, 1]})
    several = make_rated(group=make_group(size=2), scores=twice)
    assert drop_equal_groups(channel="correct")([several]) == [several]


def test_untrained_siblings_count():
    one = make_rated(outcome=[1, 0], trained=[True, False])
    assert drop_equal_groups()([one]) == [one]


def test_turn_rewards_count():
    one = make_rated(group=make_group(size=2), scores=make_scores([1, 1], turns=[[0, 0], [0, 0.5]]))
    assert drop_equal_groups()([one]) == [one]
