import math

import numpy as np
import pytest
import torch
from helpers.reward_models import make_engine

from handaxe.core.batch import CHANNEL
from handaxe.core.errors import InputError
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.papers.themis.joint_losses import joint_batch, joint_loss, score_at_reads, trace_cross_entropy
from handaxe.testing.batches import random_policy, small_batch, small_policy
from handaxe.testing.losses import differentiate
from handaxe.testing.make_records import make_trajectory
from handaxe.training.sft.supervised import pair_pieces


def conversation(number, layout="UtpTtpp"):
    return make_trajectory(layouts=[layout], id=str(number), sample=number)


def read_pair(chosen, rejected, logp=-1.0):
    """Two sides of three learned tokens, the last of them read, with the scores of a head at every token."""
    reads = {CHANNEL + "read": [[0.0, 0.0, 1.0]] * 2}
    batch = small_batch([[1.0, 1.0, 1.0]] * 2, extras=reads)
    heads = {"reward": [[[9.0, 9.0, chosen], [-9.0, -9.0, rejected]]]}
    return small_policy(batch, logp, heads=heads), batch


def test_the_joint_loss_by_hand():
    """L_LM 2.0 and D 1.0: 2.0 + 0.5 * 0.3133 = 2.1566."""
    found = differentiate(joint_loss(), *read_pair(1.2, 0.2, logp=-2.0))
    assert found.value == pytest.approx(2.0 + 0.5 * 0.3132617, abs=1e-6)
    assert found.metrics["trace/loss"] == pytest.approx(2.0) and found.metrics["preference/accuracy"] == 1.0


def test_the_score_is_read_at_the_last_token_alone():
    out, batch = read_pair(1.2, 0.2)
    found = differentiate(score_at_reads(bradley_terry()), out, batch)
    assert found.value == pytest.approx(0.3132617, abs=1e-6)
    slope = 1 / (1 + math.exp(1.0))
    assert found.gradients["head/reward"][..., 0].tolist() == [
        pytest.approx([0.0, 0.0, 0.0, -slope]),
        pytest.approx([0.0, 0.0, 0.0, slope]),
    ]


def test_the_trace_is_a_mean_over_learned_tokens():
    """logp -0.5 and -1.5 are learned, -9 is not."""
    batch = small_batch([[1.0, 1.0, 0.0]])
    out = small_policy(batch, [[-0.5, -1.5, -9.0]])
    assert differentiate(trace_cross_entropy(), out, batch).value == pytest.approx(1.0)


def test_calls_and_replies_are_learned_and_the_question_is_not():
    """Layout: U user, t template, p policy, T tool."""
    one = conversation(0)
    batch = joint_batch([(one, conversation(1))], pad_id=0)
    letters = "UtpTtpp"
    assert [letters[t] for t in np.flatnonzero(batch.mask_BT[0].numpy())] == ["p", "T", "p", "p"]
    assert np.flatnonzero(batch.extras[CHANNEL + "read"][0].numpy()).tolist() == [len(letters) - 1]
    assert batch.rollout_B.tolist() == [0, 1] and batch.denominators.positive == 8
    assert batch.temperature_B.tolist() == [1.0, 1.0]


def test_without_results_the_replies_are_not_learned():
    batch = joint_batch([(conversation(0), conversation(1))], pad_id=0, learn_results=False)
    letters = "UtpTtpp"
    assert [letters[t] for t in np.flatnonzero(batch.adv_BT[0].numpy())] == ["p", "p", "p"]
    assert torch.equal(batch.mask_BT, batch.adv_BT > 0) and batch.denominators.positive == 6
    assert np.flatnonzero(batch.extras[CHANNEL + "read"][0].numpy()).tolist() == [len(letters) - 1]


def test_the_mean_reads_every_token_after_the_first_and_learns_the_same():
    pairs = [(conversation(0), conversation(1, "UtpTtppp"))]
    last, mean = (joint_batch(pairs, pad_id=0, reads=reads) for reads in ("last", "mean"))
    assert mean.mask_BT.int().tolist() == [[0, 1, 1, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1, 1, 1]]
    assert torch.equal(mean.extras[CHANNEL + "read"] > 0, mean.mask_BT)
    assert torch.equal(mean.adv_BT, last.adv_BT) and mean.denominators.positive == last.denominators.positive == 9


def test_the_mean_score_by_hand():
    """Scores 0.0, 0.6 and 3.0 against 0.3 thrice: D = 1.2 - 0.3 = 0.9; the last two tokens are learned, L_LM 2.0."""
    reads = {CHANNEL + "read": [[1.0, 1.0, 1.0]] * 2}
    batch = small_batch([[0.0, 1.0, 1.0]] * 2, extras=reads)
    out = small_policy(batch, [[-9.0, -2.0, -2.0]] * 2, heads={"reward": [[[0.0, 0.6, 3.0], [0.3, 0.3, 0.3]]]})
    found = differentiate(joint_loss(), out, batch)
    assert found.value == pytest.approx(2.0 + 0.5 * math.log1p(math.exp(-0.9)), abs=1e-6)
    slope = 0.5 / 3 / (1 + math.exp(0.9))
    assert found.gradients["head/reward"][0, :, 0].tolist() == pytest.approx([0.0, -slope, -slope, -slope])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("results, reads", [(False, "last"), (True, "mean"), (False, "mean")])
def test_the_ablations_equal_a_slow_loop(seed, results, reads):
    pairs = [(conversation(2 * k), conversation(2 * k + 1, "UtpTtp" + "p" * (k + 1))) for k in range(3)]
    batch = joint_batch(pairs, pad_id=0, learn_results=results, reads=reads)
    batch = batch.map(lambda one: one.double() if one.is_floating_point() else one)
    out = random_policy(batch, seed)
    logp, score = out.logp_BT.detach().tolist(), out.heads["reward"].detach().mean(-1).tolist()
    total, count = 0.0, 0
    value_of = {}
    for row, letters in enumerate("UtpTtp" + "p" * (max(1, row // 2 + 1) if row % 2 else 1) for row in range(6)):
        for t, letter in enumerate(letters):
            if letter == "p" or (letter == "T" and results):
                total, count = total - logp[row][t], count + 1
        own = [score[row][t] for t in range(1, len(letters))] if reads == "mean" else [score[row][len(letters) - 1]]
        value_of[row] = sum(own) / len(own)
    preference = sum(math.log1p(math.exp(value_of[2 * k + 1] - value_of[2 * k])) for k in range(3)) / 3
    assert differentiate(joint_loss(), out, batch).value == pytest.approx(total / count + 0.5 * preference, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_a_slow_loop_in_pieces_of_any_size(seed):
    pairs = [(conversation(2 * k), conversation(2 * k + 1, "UtpTtp" + "p" * (k + 1))) for k in range(4)]
    batch = joint_batch(pairs, pad_id=0).map(lambda one: one.double() if one.is_floating_point() else one)
    out = random_policy(batch, seed)
    total, count = 0.0, 0
    preference = 0.0
    score = out.heads["reward"].detach().mean(-1)
    read = {}
    for row in range(len(batch)):
        for t in range(batch.ids_BT.shape[1]):
            if batch.mask_BT[row, t]:
                total -= float(out.logp_BT[row, t].detach())
                count += 1
            if batch.extras[CHANNEL + "read"][row, t]:
                read[int(batch.rollout_B[row])] = float(score[row, t])
    for k in range(4):
        preference += math.log1p(math.exp(read[2 * k + 1] - read[2 * k])) / 4
    value = differentiate(joint_loss(preference=0.3), out, batch).value
    assert value == pytest.approx(total / count + 0.3 * preference, abs=1e-6)


@pytest.mark.parametrize("reads", ["last", "mean"])
def test_micro_batches_give_the_gradient_of_the_whole(reads):
    pairs = [(conversation(2 * k), conversation(2 * k + 1, "UtpTtpppp")) for k in range(3)]
    found = []
    for rows in (2, 64):
        engine = make_engine(double=True)
        batch = joint_batch(pairs, pad_id=engine.pad_id, reads=reads)
        for piece in pair_pieces(batch, rows):
            engine.forward_backward(piece, joint_loss())
        found.append([one.grad.clone() for one in engine.model.module.parameters() if one.grad is not None])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("pairs, message", [([], "no pair"), ([(make_trajectory(layouts=["U"]),) * 2], "has no turn")])
def test_pairs_without_a_score_raise(pairs, message):
    with pytest.raises(InputError, match=message):
        joint_batch(pairs, pad_id=0)


def test_another_word_for_reads_raises():
    with pytest.raises(InputError, match="'first'; write 'last' or 'mean'"):
        joint_batch([(conversation(0), conversation(1))], pad_id=0, reads="first")


def test_a_negative_weight_raises():
    with pytest.raises(InputError, match="preference is -1"):
        joint_loss(preference=-1)
