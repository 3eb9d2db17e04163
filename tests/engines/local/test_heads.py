"""Heads: which state a score reads, gradients, layouts and micro-batches, frozen trunks, checkpoints and twins."""

import math

import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.heads import Head
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=20)
ROWS = [[1, 2, 3, 4, 5], [6, 7], [3, 1, 4, 1, 5, 9, 2], [3, 1, 4, 2]]
TWO = {"reward": Head(outputs=3, hidden=(8,), init="normal"), "before": Head(at="before", init="normal", seed=1)}


def tiny(dtype=torch.float64):
    return TinyModel(TinyModel.new(CONFIG, seed=1).module.to(dtype), pad_id=0)


def squared(name):
    """Mean squared distance of a head's scores to 1."""

    def loss(out, batch):
        each_BT = ((out.heads[name] - 1) ** 2).sum(-1)
        value = torch.where(batch.mask_BT, each_BT, 0.0).sum() / batch.denominators.tokens
        return LossOut(value, {"loss": value.item()})

    return loss


def test_after_reads_the_token_and_before_does_not(bigram, batch_from_rows):
    """The first entry of the state after token i is 3 i; a linear head that reads it alone is known by hand."""
    engine = LocalEngine(bigram(), heads={"after": Head(), "before": Head(at="before", outputs=2)})
    batch = batch_from_rows([[0, 2, 1, 1], [1, 0]])
    assert torch.all(engine.forward(batch, names=("head/after",))["head/after"] == 0)
    with torch.no_grad():
        engine._heads["after"].layers[0].weight.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
        engine._heads["before"].layers[0].weight.copy_(torch.tensor([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    found = engine.forward(batch, names=("head/after", "head/before"))
    assert found["head/after"].shape == (2, 4, 1) and found["head/before"].shape == (2, 4, 2)
    assert found["head/after"].flatten().tolist() == pytest.approx([0, 6, 3, 3, 0, 0, 0, 0])
    assert found["head/before"][..., 0].flatten().tolist() == pytest.approx([0, 0, 6, 3, 0, 3, 0, 0])
    torch.testing.assert_close(found["head/before"][..., 1], 2 * found["head/before"][..., 0])


def test_the_last_token_moves_the_score_after_it_alone(batch_from_rows):
    engine = LocalEngine(tiny(), heads=TWO)
    one, two = (batch_from_rows([[1, 2, 3, last]]) for last in (4, 5))
    found = [engine.forward(batch, names=("head/reward", "head/before")) for batch in (one, two)]
    assert not torch.allclose(found[0]["head/reward"][0, 3], found[1]["head/reward"][0, 3])
    torch.testing.assert_close(found[0]["head/reward"][0, :3], found[1]["head/reward"][0, :3], rtol=0, atol=1e-12)
    torch.testing.assert_close(found[0]["head/before"], found[1]["head/before"], rtol=0, atol=1e-12)


def test_a_two_layer_head_equals_its_formula(batch_from_rows):
    engine, batch = LocalEngine(tiny(), heads=TWO), batch_from_rows(ROWS)
    hidden_BTD = engine.model.hidden(batch.ids_BT, batch.attend_BT)
    first, last = engine._heads["reward"].layers
    want = torch.nn.functional.silu(hidden_BTD @ first.weight.T + first.bias) @ last.weight.T + last.bias
    found = engine.forward(batch, names=("head/reward",))["head/reward"]
    torch.testing.assert_close(found[batch.mask_BT], want[batch.mask_BT].detach(), rtol=0, atol=1e-6)
    assert torch.all(found[~batch.mask_BT] == 0)


@pytest.mark.parametrize("name", TWO)
def test_trees_rows_and_micro_batches_have_equal_scores_and_gradients(batch_from_rows, name):
    batch, found = batch_from_rows(ROWS), []
    for options in ({"packing": "tree"}, {"packing": "rows"}, {"packing": "rows", "micro_batch_rows": 1}):
        engine = LocalEngine(tiny(), heads=TWO, **options)
        score = engine.forward(batch, names=(f"head/{name}",))[f"head/{name}"]
        engine.forward_backward(batch, squared(name))
        found.append([score, *(p.grad for p in engine._trained.values() if p.grad is not None)])
    pieces = LocalEngine(tiny(), heads=TWO)
    for index in (torch.tensor([0, 2]), torch.tensor([1, 3])):
        pieces.forward_backward(batch.rows(index), squared(name))
    found.append([found[0][0], *(p.grad for p in pieces._trained.values() if p.grad is not None)])
    for other in found[1:]:
        assert len(other) == len(found[0]) > 5
        for a, b in zip(found[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


def test_the_gradient_of_a_head_agrees_with_finite_differences(batch_from_rows):
    engine, batch, loss = LocalEngine(tiny(), heads=TWO), batch_from_rows(ROWS), squared("reward")
    engine.forward_backward(batch, loss)
    names = ("heads.reward.0.weight", "heads.reward.1.bias", "weights.embed.weight")
    grads = {name: engine._trained[name].grad.clone() for name in names}
    for name, grad in grads.items():
        parameter, values = engine._trained[name], []
        index = tuple(int(i) for i in (grad.abs() == grad.abs().max()).nonzero()[0])
        for sign in (1, -1):
            with torch.no_grad():
                parameter[index] += sign * 1e-5
            values.append(engine.forward_backward(batch, loss).value.item())
            with torch.no_grad():
                parameter[index] -= sign * 1e-5
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(grad[index].item(), rel=1e-6)


def test_a_frozen_trunk_keeps_its_weights_and_a_trained_one_learns(batch_from_rows):
    batch = batch_from_rows(ROWS)
    for trunk, moves in (("frozen", False), ("trained", True)):
        engine = LocalEngine(tiny(), heads={"one": Head(init="normal", trunk=trunk)}, clip_norm=math.inf)
        before, first = engine.model.module.embed.weight.detach().clone(), None
        for _ in range(30):
            value = engine.forward_backward(batch, squared("one")).value.item()
            first = value if first is None else first
            engine.optim_step(learning_rate=1e-2)
        assert value < 0.5 * first
        assert torch.equal(before, engine.model.module.embed.weight) is not moves


def test_heads_leave_the_policy_loss_and_torchs_random_state_as_they_are(batch_from_rows, likelihood):
    batch, plain = batch_from_rows(ROWS), LocalEngine(tiny())
    plain.forward_backward(batch, likelihood)
    state = torch.get_rng_state()
    engine = LocalEngine(tiny(), heads=TWO)
    assert torch.equal(state, torch.get_rng_state())
    engine.forward_backward(batch, likelihood)
    for name, parameter in plain._trained.items():
        torch.testing.assert_close(engine._trained[name].grad, parameter.grad, rtol=0, atol=1e-9)
    assert all(p.grad is None for name, p in engine._trained.items() if name.startswith("heads."))


def test_checkpoints_state_and_twins(batch_from_rows, tmp_path):
    batch, loss = batch_from_rows(ROWS), squared("reward")
    engine = LocalEngine(tiny(), heads=TWO)
    engine.forward_backward(batch, loss)
    engine.optim_step(learning_rate=1e-2)
    engine.save(tmp_path / "one")
    names = ("head/reward", "head/before")
    want = engine.forward(batch, names=names)
    loaded, restored = LocalEngine(tiny(), heads=TWO), LocalEngine(tiny(), heads=TWO)
    loaded.load(tmp_path / "one")
    restored.load_state_dict(engine.state_dict())
    for other in (loaded, restored):
        assert all(torch.equal(other.forward(batch, names=names)[name], want[name]) for name in names)
        other.forward_backward(batch, loss)
        other.optim_step(learning_rate=1e-2)
    engine.forward_backward(batch, loss)
    engine.optim_step(learning_rate=1e-2)
    assert all(torch.equal(loaded._trained[name], p) for name, p in engine._trained.items())
    assert all(torch.equal(restored._trained[name], p) for name, p in engine._trained.items())
    with pytest.raises(CheckpointError):
        LocalEngine(tiny()).load(tmp_path / "one")
    twin = engine.twin(heads={"other": Head(2)})
    assert torch.equal(twin.model.module.embed.weight, engine.model.module.embed.weight)
    assert set(twin._heads) == {"other"} and not twin.forward(batch, names=("head/other",))["head/other"].any()
    twin.load_weights(tmp_path / "one")


def test_the_heads_of_loaded_weights_begin_again(batch_from_rows, tmp_path):
    batch = batch_from_rows(ROWS)
    engine = LocalEngine(tiny(), heads=TWO)
    first = {name: p.detach().clone() for name, p in engine._trained.items() if name.startswith("heads.")}
    engine.forward_backward(batch, squared("reward"))
    engine.optim_step(learning_rate=1e-1)
    engine.save(tmp_path / "one")
    assert not torch.equal(engine._trained["heads.reward.0.weight"], first["heads.reward.0.weight"])
    engine.load_weights(tmp_path / "one")
    assert all(torch.equal(engine._trained[name], value) for name, value in first.items())


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Head(outputs=0), "1 output or more"),
        (lambda: Head(hidden=(8, 0)), "hidden layers of 1 or more"),
        (lambda: Head(at="now"), "at of a head is before or after, not 'now'"),
        (lambda: Head(trunk="cold"), "trunk of a head"),
        (lambda: LocalEngine(tiny(), heads={"a.b": Head()}), "a head is named 'a.b'"),
    ],
)
def test_bad_heads_are_one_sentence(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_an_unknown_head_is_named(batch_from_rows):
    engine = LocalEngine(tiny(), heads=TWO)
    with pytest.raises(InputError, match="forward knows .*head/reward, head/before, not head/other"):
        engine.forward(batch_from_rows(ROWS), names=("head/other",))
    with pytest.raises(InputError, match="not head/reward"):
        LocalEngine(tiny(), heads=TWO, reference=True).forward(
            batch_from_rows(ROWS), names=("head/reward",), reference=True
        )
