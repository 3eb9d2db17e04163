import pytest

from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.reductions.turn_mean import turn_mean
from handaxe.testing.batches import random_batch, small_batch


def example():
    """Rows of 2 and 6 tokens; the second row holds a tool's reply, with NaN under the mask."""
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, None, 2.0, 2.0, 2.0, 2.0]])
    return batch.adv_BT.clone().requires_grad_(), batch


def test_example_by_hand():
    loss_BT, batch = example()
    found = turn_mean()(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(1.5, abs=1e-12)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 4] * 2 + [1 / 12] * 6)
    assert not loss_BT.grad[~batch.mask_BT].any()


def test_two_micro_batches_add_up():
    loss_BT, batch = example()
    parts = [turn_mean()(loss_BT[i : i + 1, :length], batch.rows(slice(i, i + 1))) for i, length in ((0, 3), (1, 8))]
    assert sum(part.item() for part in parts) == pytest.approx(1.5, abs=1e-12)


def test_turns_have_equal_weight():
    batch = small_batch([[1.0, 1.0, None, 2.0, 2.0, 2.0, 2.0], [6.0]], turn=[[0, 0, 0, 1, 1, 1, 1], [0]])
    loss_BT = batch.adv_BT.clone().requires_grad_()
    found = turn_mean()(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(3.0)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 6] * 2 + [1 / 12] * 4 + [1 / 3])


def test_per_rollout_gives_rollouts_equal_weight():
    """Turns [1, 1] and [2, 2, 2, 2] of one rollout, over two rows, and [6] of another."""
    batch = small_batch([[1.0, 1.0], [2.0, 2.0, 2.0, 2.0], [6.0]], turn=[[0, 0], [1, 1, 1, 1], [0]], rollout=[0, 0, 1])
    loss_BT = batch.adv_BT.clone().requires_grad_()
    found = turn_mean(per_rollout=True)(loss_BT, batch)
    found.backward()
    assert found.item() == pytest.approx(3.75)
    assert loss_BT.grad[batch.mask_BT].tolist() == pytest.approx([1 / 8] * 2 + [1 / 16] * 4 + [1 / 2])


@pytest.mark.parametrize("seed", range(4))
def test_turn_mean_equals_a_slow_loop(seed):
    batch = random_batch(seed, left_out=0.3)
    turns = {}
    for row, t in batch.mask_BT.nonzero().tolist():
        key = int(batch.rollout_B[row]), int(batch.turn_BT[row, t])
        turns.setdefault(key, []).append(batch.adv_BT[row, t].item())
    means = {}
    for (rollout, _), values in turns.items():
        means.setdefault(rollout, []).append(sum(values) / len(values))
    every = [value for values in means.values() for value in values]
    assert turn_mean()(batch.adv_BT, batch).item() == pytest.approx(sum(every) / len(every))
    slow = sum(sum(values) / len(values) for values in means.values()) / len(means)
    assert turn_mean(per_rollout=True)(batch.adv_BT, batch).item() == pytest.approx(slow)


def test_a_long_and_a_short_turn_by_each_reduction():
    """Turns [1, 1, 1, 1] and [3] of one rollout: their tokens mean 7 / 5, and their turns 2."""
    batch = small_batch([[1.0, 1.0, 1.0, 1.0, 3.0]], turn=[[0, 0, 0, 0, 1]])
    assert token_mean()(batch.adv_BT, batch).item() == rollout_mean()(batch.adv_BT, batch).item() == pytest.approx(1.4)
    assert turn_mean(per_rollout=True)(batch.adv_BT, batch).item() == turn_mean()(batch.adv_BT, batch).item() == 2.0


def weights(reduction, *rollouts):
    """Weight of each turn, the sum of the gradient over the turn's tokens; rollouts are lists of token counts."""
    turn = [[k for k, length in enumerate(own) for _ in range(length)] for own in rollouts]
    batch = small_batch([[1.0] * len(own) for own in turn], turn=turn)
    loss_BT = batch.adv_BT.clone().requires_grad_()
    reduction(loss_BT, batch).backward()
    places = [[[1 + t for t, one in enumerate(own) if one == k] for k in range(max(own) + 1)] for own in turn]
    return [[loss_BT.grad[row, at].sum().item() for at in own] for row, own in enumerate(places)]


@pytest.mark.parametrize(
    ("reduction", "by_length", "by_turns"),
    [
        (turn_mean(per_rollout=True), False, False),
        (turn_mean(), False, True),
        (rollout_mean(), True, False),
        (token_mean(), True, True),
    ],
    ids=["turn, then rollout", "turn", "rollout", "token"],
)
def test_weights_of_turns_and_rollouts_by_reduction(reduction, by_length, by_turns):
    """Whether a turn weighs more where it is longer, and a rollout where it has more turns of one length."""
    (short, long), _ = weights(reduction, (2, 6), (3,))
    assert (long == pytest.approx(short)) == (not by_length)
    few, many = weights(reduction, (2,), (2, 2, 2))
    assert (sum(many) == pytest.approx(sum(few))) == (not by_turns)
