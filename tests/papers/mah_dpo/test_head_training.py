import copy
from math import log

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Pair
from handaxe.engines.local.engine import LocalEngine
from handaxe.losses.dpo import dpo
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.mah_dpo.head_training import HeadPair, head_batches, head_step, train_heads
from handaxe.papers.mah_dpo.many_heads import many_heads
from handaxe.testing.make_records import make_trajectory

SMALL = TinyConfig(vocab_size=300, width=8, layers=1, heads=2, max_length=32)
BETA = 0.1
SIDES = [make_trajectory(layouts=[layout]) for layout in ("Utppp", "Utpp", "Utpppp", "Utp")]
PAIRS = [HeadPair(Pair(SIDES[0], SIDES[1]), 0), HeadPair(Pair(SIDES[3], SIDES[2]), 1)]


def heads_engine():
    model = TinyModel.new(SMALL, seed=3)
    model.module.double()
    many = many_heads(model, noise=0.3, seed=1)
    engine = LocalEngine(many, reference=True, clip_norm=1e9)
    with torch.no_grad():  # away from the reference
        for head in many.module.heads:
            head.mul_(1.3)
        many.module.embed_before.weight.mul_(2)
    return engine, many.mix


def slow_loss(engine, head):
    """DPO of the head's only pair, with a loop over tokens and logits of the head alone."""
    total = torch.zeros((), dtype=torch.float64)
    pair = PAIRS[head].pair
    for one, sign in ((pair.chosen, 1), (pair.rejected, -1)):
        sequence = one.sequences[0]
        ids_BT = torch.tensor([list(sequence.ids)])
        for model, side in ((engine.model, 1), (engine._reference, -1)):
            hidden = model.hidden(ids_BT, ids_BT > 0)[0]
            for t in range(1, len(sequence)):
                if sequence.mask[t]:
                    logits = hidden[t - 1] @ model.module.heads[head].T
                    total = total + sign * side * (logits[ids_BT[0, t]] - torch.logsumexp(logits, 0))
    return -torch.nn.functional.logsigmoid(BETA * total)


@pytest.mark.exact
def test_a_step_has_the_loss_and_gradient_of_the_slow_loop(monkeypatch):
    engine, mix = heads_engine()
    named = dict(engine.model.module.named_parameters())
    expected = sum(slow_loss(engine, head) for head in range(2)) / 2
    slow = dict(zip(named, torch.autograd.grad(expected, list(named.values()), allow_unused=True)))
    seen = {}
    step = engine.optim_step

    def spy(*, learning_rate):
        seen.update({name: p.grad.clone() for name, p in named.items()})
        return step(learning_rate=learning_rate)

    monkeypatch.setattr(engine, "optim_step", spy)
    found = head_step(engine, mix, head_batches(engine, mix, PAIRS), dpo(beta=BETA), learning_rate=0.0)
    assert found["loss"] == pytest.approx(float(expected.detach()), abs=1e-6)
    assert abs(float(expected.detach()) - log(2)) > 1e-4
    for name, gradient in slow.items():
        torch.testing.assert_close(seen[name], gradient, atol=1e-6, rtol=0)


def test_the_loss_of_a_head_has_no_gradient_to_another_head_by_finite_differences():
    engine, mix = heads_engine()
    heads = engine.model.module.heads
    for head, batch in head_batches(engine, mix, PAIRS).items():

        def value():
            with mix.only(head):
                return float(engine.forward_backward(batch, dpo(beta=BETA)).value)

        value()
        gradient = heads[head].grad.clone()
        assert heads[1 - head].grad is None
        for owner, expected in ((head, gradient), (1 - head, torch.zeros_like(gradient))):
            places = gradient.abs().flatten().topk(3).indices.tolist()
            for place in places:
                flat = heads[owner].data.view(-1)
                before = float(flat[place])
                flat[place] = before + 1e-4
                up = value()
                flat[place] = before - 1e-4
                down = value()
                flat[place] = before
                assert (up - down) / 2e-4 == pytest.approx(float(expected.view(-1)[place]), abs=1e-6)
        assert float(gradient.abs().max()) > 1e-3
        engine._drop_gradient()


def test_the_mean_is_over_heads_with_a_pair():
    """A step of one head has its whole loss; two pairs of one head count as much as one pair of the other."""
    engine, mix = heads_engine()
    alone = {}
    for head in range(2):
        batches = head_batches(engine, mix, PAIRS[head : head + 1])
        alone[head] = head_step(engine, mix, batches, dpo(beta=BETA), learning_rate=0.0)["loss"]
    batches = head_batches(engine, mix, [PAIRS[0], PAIRS[0], PAIRS[1]])
    both = head_step(engine, mix, batches, dpo(beta=BETA), learning_rate=0.0)
    assert both["loss"] == pytest.approx((alone[0] + alone[1]) / 2, abs=1e-6)
    assert alone[0] != pytest.approx(alone[1], abs=1e-4)


def test_margins_by_hand():
    """A margin of 1.5 nats and one of 0, beta 0.1: (0.6210 + 0.6931) / 2."""
    engine, mix = heads_engine()
    batches = head_batches(engine, mix, PAIRS)
    for head, margin in ((0, 1.5), (1, 0.0)):
        with mix.only(head):
            logp = engine.forward(batches[head], names=("logp",))["logp"]
        reference = logp.clone()
        row = int((batches[head].rollout_B == 0).nonzero()[0, 0])
        column = int(batches[head].mask_BT[row].nonzero()[0, 0])
        reference[row, column] -= margin
        batches[head].extras["ref_logp"].copy_(reference)
    found = head_step(engine, mix, batches, dpo(beta=BETA), learning_rate=0.0)
    assert found["loss"] == pytest.approx((0.6210 + 0.6931) / 2, abs=1e-4)


@pytest.mark.exact
def test_training_continues_from_a_checkpoint_to_the_bit(tmp_path):
    def run(engine, mix, pairs):
        train_heads(engine, mix, pairs, dpo(), epochs=1, batch_size=2, learning_rate=1e-2)

    whole, mix = heads_engine()
    run(whole, mix, PAIRS)
    whole.save(tmp_path)
    resumed, other = heads_engine()
    resumed.load(tmp_path)
    for engine, own in ((whole, mix), (resumed, other)):
        run(engine, own, PAIRS)
    for one, two in zip(whole.model.module.parameters(), resumed.model.module.parameters(), strict=True):
        assert torch.equal(one, two)


def test_training_moves_both_heads_toward_their_pairs():
    engine, mix = heads_engine()
    engine.restart()
    before = copy.deepcopy(engine.model.module.state_dict())
    taken = train_heads(engine, mix, PAIRS, dpo(), epochs=8, batch_size=2, learning_rate=1e-2)
    assert len(taken) == 8
    assert taken[-1]["0/margin"] > 0.1 and taken[-1]["1/margin"] > 0.1
    assert taken[0]["loss"] == pytest.approx(log(2), abs=1e-6)
    for name in ("heads.0", "heads.1", "embed.weight"):
        assert not torch.equal(before[name], engine.model.module.state_dict()[name])


def test_bad_pairs_are_refused():
    engine, mix = heads_engine()
    with pytest.raises(InputError, match=r"pairs name the heads \[2\], but the model has heads 0 to 1"):
        head_batches(engine, mix, [HeadPair(PAIRS[0].pair, 2)])
    with pytest.raises(InputError, match="no pair to train on"):
        head_batches(engine, mix, [])
