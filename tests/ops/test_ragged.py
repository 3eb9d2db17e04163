import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.ragged import (
    gather,
    group_rewards,
    kl_penalty,
    resolve_channel,
    scatter,
    scatter_group,
    statistics_mask,
    token_feature,
    token_rewards,
    token_turn_indices,
    turn_end_indices,
    turn_rewards,
    turn_start_indices,
)
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.random_groups import random_group

DRAWING = make_trajectory(layouts=["UUt pp tTt p"])
SPLIT = make_trajectory(layouts=["UUt pp", "UUttTt p"])


def test_gather_and_scatter_equal_the_example():
    assert token_turn_indices(DRAWING).tolist() == [0, 0, 1]
    assert turn_start_indices(DRAWING).tolist() == [0, 2]
    assert turn_end_indices(DRAWING).tolist() == [1, 2]
    (row,) = scatter(DRAWING, np.array([1, 2, 3]))
    assert row.tolist() == [0, 0, 0, 1, 2, 0, 0, 0, 3]
    assert gather(DRAWING, [np.arange(9)]).tolist() == [3, 4, 8]


def test_gather_reads_turns_in_order_through_all_sequences():
    first, second = scatter(SPLIT, np.array([1, 2, 3]))
    assert first.tolist() == [0, 0, 0, 1, 2]
    assert second.tolist() == [0, 0, 0, 0, 0, 0, 3]
    assert gather(SPLIT, [np.arange(5), np.arange(10, 17)]).tolist() == [3, 4, 16]


@pytest.mark.parametrize("seed", range(10))
def test_scatter_inverts_gather(seed):
    for one in random_group(seed):
        values = np.random.default_rng(seed).normal(size=one.num_tokens)
        arrays = scatter(one, values)
        np.testing.assert_array_equal(gather(one, arrays), values)
        for array, sequence in zip(arrays, one.sequences, strict=True):
            assert not array[~sequence.mask].any()
            np.testing.assert_array_equal(array[sequence.mask] != 0, True)
        own = [token_turn_indices(one)[k] for k in turn_end_indices(one)]
        assert own == list(range(len(one.turns)))


def test_scatter_broadcasts_a_number_and_rejects_a_wrong_count():
    assert scatter(DRAWING, 2.0)[0].tolist() == [0, 0, 0, 2, 2, 0, 0, 0, 2]
    with pytest.raises(ValueError):
        scatter(DRAWING, np.zeros(4))
    with pytest.raises(ValueError):
        scatter_group(make_group(size=2), np.zeros(3))
    assert [own[0].max() for own in scatter_group(make_group(size=2), np.array([1.0, 3.0]))] == [1, 3]


def test_trajectory_without_turns_gives_empty_arrays():
    silent = make_trajectory(layouts=["Ut"])
    assert gather(silent, [np.ones(2)]).tolist() == []
    assert scatter(silent, 5.0)[0].tolist() == [0, 0]
    assert (
        token_turn_indices(silent).tolist()
        == turn_start_indices(silent).tolist()
        == turn_end_indices(silent).tolist()
        == []
    )
    assert token_feature(silent, "value").tolist() == []


def test_token_feature_reads_policy_tokens_only():
    one = make_trajectory(layouts=["Utpp", "UUtp"], features={"value": [1, 2, 3]}, off_mask=np.nan, logp=[-1, -2, -3])
    assert token_feature(one, "value").tolist() == [1, 2, 3]
    assert token_feature(one, "logp").tolist() == [-1, -2, -3]
    with pytest.raises(InputError, match="'entropy'.*annotate"):
        token_feature(one, "entropy")


def test_kl_penalty_is_the_scaled_log_ratio():
    one = make_trajectory(layouts=["Utpp"], features={"old_logp": [-1.0, -2.0], "ref_logp": [-1.5, -1.0]})
    np.testing.assert_allclose(kl_penalty(one, 0.1), [0.05, -0.1])


GROUP = make_group(layouts=["Utpp tTt p", "Utp"])


def test_group_rewards_add_outcome_and_turns():
    scores = make_scores([1, 0.5], turns=[[0.25, -0.5], [2]], channels={"format": [0, 1]})
    assert group_rewards(GROUP, scores).tolist() == [0.75, 2.5]
    assert group_rewards(GROUP, scores, channel="format").tolist() == [0, 1]
    with pytest.raises(InputError, match="'speed'.*format"):
        group_rewards(GROUP, scores, channel="speed")


def test_group_rewards_reject_non_finite_values():
    unscored = make_scores([np.nan, 1], turns=[[np.nan, np.nan], [1]])
    np.testing.assert_array_equal(group_rewards(GROUP, unscored), [np.nan, 2])
    kept = make_scores([np.nan, 1], channels={"x": [0.5, 0.25]})
    np.testing.assert_array_equal(group_rewards(GROUP, kept, channel="x"), [np.nan, 0.25])
    assert kept.channels["x"].tolist() == [0.5, 0.25]
    for bad in (
        make_scores([np.inf, 0]),
        make_scores([1, 0], turns=[[np.nan, 0], [0]]),
        make_scores([1, 0], turns=[[0, np.inf], [0]]),
    ):
        with pytest.raises(InputError, match="task-0/0/0"):
            group_rewards(GROUP, bad)
    with pytest.raises(InputError, match="finite"):
        group_rewards(GROUP, make_scores([1, 0], channels={"x": [np.nan, 0]}), channel="x")
    with pytest.raises(InputError, match="shape"):
        group_rewards(GROUP, make_scores([1, 0, 0]))
    with pytest.raises(InputError, match=r"\[2, 1\]"):
        turn_rewards(GROUP, make_scores([1, 0], turns=[[1], [1]]))


def test_statistics_mask_selects_scored_and_eligible_siblings():
    scores = make_scores([1, np.nan, 0], eligible=[True, True, False])
    group, rewards = make_group(size=3), scores.outcome
    assert statistics_mask(group, scores, rewards).tolist() == [True, False, True]
    assert statistics_mask(group, scores, rewards, "eligible").tolist() == [True, False, False]
    assert statistics_mask(group, make_scores([1, np.nan, 0]), rewards, "eligible").tolist() == [True, False, True]
    with pytest.raises(InputError, match="stats_over"):
        statistics_mask(group, scores, rewards, "kept")
    with pytest.raises(InputError, match="eligible"):
        statistics_mask(group, make_scores([1, 1, 0], eligible=[True]), rewards, "eligible")


def test_token_rewards_fall_on_last_tokens():
    scores = make_scores([10, 20], turns=[[1, 2], [3]])
    assert [r.tolist() for r in token_rewards(GROUP, scores)] == [[0, 1, 12], [23]]
    assert [r.tolist() for r in token_rewards(GROUP, scores, turns=True)] == [[1, 12], [23]]
    assert [r.tolist() for r in token_rewards(GROUP, make_scores([10, np.nan]))] == [[0, 0, 10], [0]]
    assert scores.turns[0].tolist() == [1, 2]


def test_turn_rewards_are_zero_without_per_turn_scores():
    assert [r.tolist() for r in turn_rewards(GROUP, make_scores([1, 1]))] == [[0, 0], [0]]


def test_resolve_channel_takes_the_exact_or_the_only_nested_name():
    def found(channel, *names):
        return resolve_channel(make_scores([0.0], channels={name: [1.0] for name in names}), channel)

    assert found("correct", "a", "a/correct") == "a/correct"
    assert found("correct", "correct", "a/correct") == "correct"
    assert found("correct", "a/correct", "b/correct") == "correct"
    assert found("correct", "a/incorrect") == "correct"
    group = make_group(size=2)
    assert group_rewards(group, make_scores([0, 0], channels={"a/correct": [1, 0]}), channel="correct").tolist() == [
        1,
        0,
    ]
    with pytest.raises(InputError, match="no channel 'correct'; there are a/correct, b/correct"):
        group_rewards(
            group, make_scores([0, 0], channels={"a/correct": [1, 0], "b/correct": [1, 0]}), channel="correct"
        )
