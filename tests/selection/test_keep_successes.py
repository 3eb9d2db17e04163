from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall
from handaxe.selection.keep_successes import keep_successes
from handaxe.selection.parts.dispositions import live
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_trajectory

CONTRACT = [
    {},
    {"above": -1.0, "most": 1},
    {"least_calls": 1, "most_calls": 2, "above": 0.0},
    {"most": 2, "best": True},
]


def played(outcome, *, calls=None, texts=None, trained=None, channels=None):
    size = range(len(outcome))
    calls, texts = calls or [0 for _ in size], texts or [f"answer {i}" for i in size]
    siblings = [make_trajectory(texts=["", texts[i]], calls=[["f"] * calls[i], []], id=f"{i}", sample=i) for i in size]
    scores = make_scores(outcome, channels=channels)
    return make_rated(
        group=make_group(trajectories=siblings), scores=scores, advantage=[1.0] * len(outcome), trained=trained
    )


def kept(select, one):
    return [found.trained.tolist() for found in live(select([one]))]


def test_keep_successes_trains_distinct_successes_within_the_call_bound():
    one = played([1, 1, 0, 1], calls=[1, 1, 1, 6], texts=["a", "a", "b", "c"])
    assert kept(keep_successes(most_calls=5), one) == [[True, False, False, False]]


def test_keep_successes_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    for _ in range(50):
        outcome, calls = rng.choice([0.0, 1.0, np.nan], 6), rng.integers(0, 4, 6).tolist()
        texts, trained = rng.choice(list("abc"), 6).tolist(), (rng.random(6) < 0.8).tolist()
        one = played(outcome, calls=calls, texts=texts, trained=trained)
        wanted, said = [], []
        for i in range(6):
            mine = ("f" * calls[i], texts[i])
            good = outcome[i] == 1 and trained[i] and 1 <= calls[i] <= 2 and mine not in said and len(said) < 2
            wanted.append(bool(good))
            said += [mine] if good else []
        found = kept(keep_successes(least_calls=1, most_calls=2, most=2), one)
        assert found == ([wanted] if any(wanted) else [])


def test_of_equal_rollouts_the_lower_sample_is_kept_in_any_order():
    one = played([1, 1], texts=["a", "a"])
    other = one.with_group(replace(one.group, trajectories=one.group.trajectories[::-1]))
    assert kept(keep_successes(), one) == [[True, False]] and kept(keep_successes(), other) == [[False, True]]


def test_a_channel_replaces_the_reward_and_wrong_options_are_errors():
    one = played([0.1, 0.1], channels={"correct": [1, 0]})
    assert kept(keep_successes(channel="correct"), one) == [[True, False]]
    assert kept(keep_successes(), one) == [] and keep_successes()([]) == []
    with pytest.raises(InputError, match="no channel"):
        keep_successes(channel="right")([one])
    for wrong in ({"least_calls": -1}, {"least_calls": 3, "most_calls": 2}, {"most": 0}):
        with pytest.raises(InputError, match="least_calls"):
            keep_successes(**wrong)


def test_unscored_rollouts_are_masked_at_any_channel_value():
    one = played([np.nan, 0.1], channels={"correct": [1, 1]})
    assert kept(keep_successes(channel="correct"), one) == [[False, True]]


def test_a_nested_channel_is_found():
    one = played([0.1, 0.1], channels={"whole/correct": [1, 0]})
    assert kept(keep_successes(channel="correct"), one) == [[True, False]]


def test_equal_calls_ignore_argument_order_and_number_type():
    calls = [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}, {"a": True, "b": 2}]
    siblings = [
        make_trajectory(texts=[""], calls=[[ToolCall("f", own)]], id=f"{i}", sample=i) for i, own in enumerate(calls)
    ]
    one = make_rated(group=make_group(trajectories=siblings), scores=make_scores([1, 1, 1]), advantage=[1.0] * 3)
    assert kept(keep_successes(), one) == [[True, False, True]]


def test_best_orders_by_reward_then_by_sample():
    assert kept(keep_successes(most=2, best=True), played([0.6, 1.2, 0.9])) == [[False, True, True]]
    assert kept(keep_successes(most=2), played([0.6, 1.2, 0.9])) == [[True, True, False]]
    alike = played([0.6, 1.2, 1.2, np.nan], texts=["a", "a", "a", "b"])
    assert kept(keep_successes(best=True), alike) == [[False, True, False, False]]
