import pytest

from handaxe.core.errors import InputError
from handaxe.losses.parts.components import ends_turn, extra, mean_over_turn, sum_over_rollout, sum_over_turn
from handaxe.testing.batches import small_batch


def test_extra_is_clean_off_the_mask():
    batch = small_batch([[1.0, None, 1.0]], extras={"value": [[2.0, 9.0, 3.0]]})
    assert extra(batch, "value").tolist() == [[0.0, 2.0, 0.0, 3.0]]


def test_extra_names_the_missing_tensor():
    with pytest.raises(InputError, match=r"'ref_logp'\], but the batch has none"):
        extra(small_batch([[1.0]]), "ref_logp")


def test_sum_over_rollout_is_over_all_rows():
    batch = small_batch([[1.0, 2.0], [4.0], [8.0, None]], rollout=[5, 9, 5])
    assert sum_over_rollout(batch.adv_BT, batch).tolist() == [11.0, 4.0, 11.0]


def test_sum_over_rollout_of_half_a_rollout_is_an_error():
    batch = small_batch([[1.0, 2.0], [4.0], [8.0, None]], rollout=[5, 9, 5])
    with pytest.raises(InputError, match=r"rollouts \[5\]"):
        sum_over_rollout(batch.rows(slice(0, 2)).adv_BT, batch.rows(slice(0, 2)))


def test_sums_over_turns_count_trained_tokens_only():
    batch = small_batch([[1.0, None, 2.0, 6.0], [5.0]], turn=[[0, None, 0, 1], [0]])
    assert sum_over_turn(batch.adv_BT, batch).tolist() == [[0.0, 3.0, 0.0, 3.0, 6.0], [0.0, 5.0, 0.0, 0.0, 0.0]]
    assert mean_over_turn(batch.adv_BT, batch).tolist() == [[0.0, 1.5, 0.0, 1.5, 6.0], [0.0, 5.0, 0.0, 0.0, 0.0]]


def test_ends_turn_marks_the_last_trained_token():
    batch = small_batch([[1.0, 1.0, None, 1.0], [1.0, None, 1.0], [None]], turn=[[0, 0, None, 1], [2, None, 2], [None]])
    wanted = [[0, 0, 1, 0, 1], [0, 0, 0, 1, 0], [0] * 5]
    assert ends_turn(batch).tolist() == [[bool(x) for x in row] for row in wanted]
