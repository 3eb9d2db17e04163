import copy
import math
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from helpers.image_records import noise
from helpers.vision_policy import vision_model

from handaxe.core.batch import LossOut
from handaxe.core.errors import CheckpointError, InputError, TrainingError
from handaxe.core.records import Group, Message, Sampling, Task
from handaxe.core.requests import Attempt, EnvReply, Measure, Sample
from handaxe.core.validation import check_group
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import ASSISTANT, Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rollouts.driver import run
from handaxe.rollouts.forking import forking
from handaxe.rollouts.turn_starts import turn_starts
from handaxe.testing.engine_case import example_loss
from handaxe.testing.engine_contract import check_engine
from handaxe.testing.make_records import make_rated
from handaxe.training.loop.batch import make_batch

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=20)
ROWS = [[1, 2, 3, 4, 5], [6, 7], [3, 1, 4, 1, 5, 9, 2], [2, 2, 2]]


def tiny(dtype=torch.float32):
    return TinyModel(TinyModel.new(CONFIG, seed=1).module.to(dtype), pad_id=0)


def gradient(engine):
    return {name: p.grad for name, p in engine.model.module.named_parameters()}


def weights(engine):
    return dict(engine.model.module.named_parameters())


def take_steps(engine, batches, loss, learning_rate=1e-2):
    for batch in batches:
        engine.forward_backward(batch, loss)
        engine.optim_step(learning_rate=learning_rate)


@pytest.mark.exact
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-7)])
def test_tiny_model_passes_the_engine_contract(tmp_path, dtype, tolerance):
    checks = check_engine(
        lambda: LocalEngine(tiny(dtype), reference=True),
        lambda: tiny(dtype),
        folder=tmp_path,
        tolerance=tolerance,
        gradient=gradient,
        weights=weights,
        reference=True,
    )
    assert len(checks) == 19


def test_learned_positions_with_dropout_pass_the_engine_contract(tmp_path, learned):
    def train_mode():
        model = learned()
        model.module.train()
        return model

    check_engine(
        lambda: LocalEngine(train_mode(), reference=True, max_rows=3, micro_batch_rows=2),
        learned,
        folder=tmp_path,
        tolerance=1e-7,
        gradient=gradient,
        weights=weights,
        reference=True,
    )


# --- alignment, masks, padding -----------------------------------------------------------------------------------


def test_forward_matches_a_known_table(bigram, batch_from_rows):  # trap 15
    out = LocalEngine(bigram()).forward(batch_from_rows([[0, 2, 1, 1], [1, 0]]), names=("logp", "entropy", "collision"))
    want = [[0, math.log(0.2), math.log(0.7), math.log(0.1)], [0, math.log(0.1), 0, 0]]
    assert torch.allclose(out["logp"], torch.tensor(want, dtype=torch.float64), atol=1e-12)
    assert out["collision"][0, 1].item() == pytest.approx(0.38)
    assert out["entropy"][1, 1].item() == pytest.approx(-0.2 * math.log(0.1) - 0.8 * math.log(0.8))


def test_masked_tool_tokens_are_attended(batch_from_rows, likelihood):  # trap 14
    engine = LocalEngine(tiny(torch.float64))
    mask = [[False, True, False, False, True, True]]
    one, other = batch_from_rows([[1, 2, 3, 4, 5, 6]], mask=mask), batch_from_rows([[1, 2, 9, 4, 5, 6]], mask=mask)
    a, b = (engine.forward(x)["logp"][0] for x in (one, other))
    assert torch.equal(a[:4], b[:4]) and torch.all(a[4:] != b[4:])


def test_final_eos_trains_even_as_the_pad_id(batch_from_rows):  # trap 12
    engine, eos = LocalEngine(tiny(torch.float64)), 0
    batch = batch_from_rows([[5, 6, eos], [5, 6, 7, 8, eos]], pad=2, pad_id=eos)
    assert engine.pad_id == eos
    logps = []

    def loss(out, batch):
        logps.append(out.logp_BT)
        out.logp_BT.retain_grad()
        value = torch.where(batch.mask_BT, -out.logp_BT, 0.0).sum() / batch.denominators.tokens
        return LossOut(value, {})

    engine.forward_backward(batch, loss)
    assert logps[0].grad[0].tolist() == pytest.approx([0, -1 / 6, -1 / 6, 0, 0, 0, 0])
    alone = LocalEngine(tiny(torch.float64))
    only_eos = [[False, False, True], [False] * 5]
    alone.forward_backward(batch_from_rows([[5, 6, eos], [5, 6, 7, 8, eos]], mask=only_eos, pad_id=eos), loss)
    assert gradient(alone)["embed.weight"].abs().max() > 1e-3


@pytest.mark.exact
@pytest.mark.parametrize("make", ["tiny", "learned"])
def test_padding_changes_no_loss_and_no_gradient(make, learned, batch_from_rows, likelihood):  # trap 29
    results = []
    rows = [[t % 10 for t in row] for row in ROWS]
    for pad, pad_id in ((0, 0), (1, 3), (5, 10**6)):
        engine = LocalEngine(tiny(torch.float64) if make == "tiny" else learned())
        batch = batch_from_rows(rows, pad=pad, pad_id=pad_id)
        logp = engine.forward(batch)["logp"][:, :7]
        assert torch.all(engine.forward(batch)["logp"][~batch.attend_BT] == 0)
        value = engine.forward_backward(batch, likelihood).value
        results.append((logp, value, *[g.clone() for g in gradient(engine).values() if g is not None]))
    for other in results[1:]:
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(results[0], other))


def test_nan_off_the_mask_reaches_no_gradient(batch_from_rows, likelihood):
    mask = [
        [False, True, True, False, False],
        [False, False],
        [False, True, True, False, True, True, True],
        [False] * 3,
    ]
    found = []
    for filler in (0.0, math.nan):
        batch = batch_from_rows(ROWS, mask=mask, pad=1)
        batch.adv_BT[~batch.mask_BT] = filler
        engine = LocalEngine(tiny(torch.float64))
        value = engine.forward_backward(batch, lambda o, b: likelihood(o, _clean(b))).value
        found.append((value, engine.optim_step(learning_rate=0.0)["grad_norm"]))
    assert found[0] == found[1] and math.isfinite(found[0][1])


def _clean(batch):
    batch.adv_BT[~batch.mask_BT] = 0
    return batch


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_first_importance_ratio_is_one(batch_from_rows, temperature):  # trap 16
    engine = LocalEngine(tiny())
    prompts = [[1, 2, 3], [4], [5, 6, 7, 8]]
    sampling = Sampling(temperature, max_tokens=10)
    done = engine.sample([Sample(ids, sampling, seed, frozenset({0})) for seed, ids in enumerate(prompts)])
    rows = [[*ids, *d.ids] for ids, d in zip(prompts, done)]
    mask = [[False] * len(ids) + [True] * len(d.ids) for ids, d in zip(prompts, done)]
    old = [[0.0] * len(ids) + d.logp for ids, d in zip(prompts, done)]
    batch = batch_from_rows(rows, mask=mask, adv=old, temperature=[temperature] * 3, dtype=torch.float32)
    ratios = []

    def ratio(out, batch):
        ratios.append(torch.where(batch.mask_BT, out.logp_BT - batch.adv_BT, 0.0).exp())
        return LossOut(ratios[0].sum(), {})

    engine.forward_backward(batch, ratio)
    assert (ratios[0] - 1).abs().max() < 1e-5
    other = engine.forward(batch_from_rows(rows, temperature=[1.7 - temperature] * 3, dtype=torch.float32))["logp"]
    assert (other[batch.mask_BT] - batch.adv_BT[batch.mask_BT]).abs().max() > 1e-2  # another temperature differs


def test_forward_does_not_depend_on_micro_batch_rows(batch_from_rows):
    batch = batch_from_rows(ROWS, pad=3, temperature=[1.0, 0.5, 0.0, 2.0])
    names = ("logp", "entropy", "collision", "value")
    found = []
    for rows in (1, 3, 64):
        engine = LocalEngine(tiny(torch.float64), critic=True, micro_batch_rows=rows)
        torch.nn.init.ones_(engine._critic.weight)
        found.append(engine.forward(batch, names=names))
    for other in found[1:]:
        assert all(torch.allclose(found[0][name], other[name], atol=1e-12) for name in names)
    assert LocalEngine(tiny()).forward(batch.rows(slice(0, 0)))["logp"].shape == (0, 0)


@pytest.mark.parametrize("packing", ["tree", "rows"])
@pytest.mark.parametrize("reference", [False, True])
def test_logits_are_computed_for_masked_tokens_only(batch_from_rows, packing, reference):
    read, names = [], ("logp", "entropy", "collision")

    class Counting(TinyModel):
        def head(self, hidden):
            read.append(len(hidden))
            return super().head(hidden)

    module = TinyModel.new(replace(CONFIG, max_length=80), seed=1).module.double()
    engine = LocalEngine(Counting(module, pad_id=0), packing=packing, reference=reference)
    ids = [t * 7 % 24 for t in range(65)]
    batch = batch_from_rows([ids], mask=[[t in (20, 21, 40, 64) for t in range(65)]])
    trained_tokens = engine.forward(batch, names=names, reference=reference)
    all_tokens = engine.forward(replace(batch, mask_BT=batch.attend_BT), names=names, reference=reference)
    assert read == [4, 64]
    for name in names:
        assert torch.allclose(trained_tokens[name], all_tokens[name] * batch.mask_BT, atol=1e-12), name
        assert bool((all_tokens[name][:, 1:] != 0).all())


# --- critic and reference ----------------------------------------------------------------------------------------


def squared_error(out, batch):
    each_BT = torch.where(batch.mask_BT, (out.value_BT - batch.adv_BT) ** 2, 0.0)
    return LossOut(each_BT.sum() / batch.denominators.tokens, {})


def test_value_belongs_to_the_state_before_the_token(bigram, batch_from_rows):
    engine = LocalEngine(bigram(), critic=True)
    batch = batch_from_rows([[0, 2, 1, 1], [1, 0]])
    assert torch.all(engine.forward(batch, names=("value",))["value"] == 0)
    with torch.no_grad():
        engine._critic.weight.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
    value = engine.forward(batch, names=("value",))["value"]
    assert value.flatten().tolist() == pytest.approx([0, 0, 6, 3, 0, 3, 0, 0])  # embed[i] starts with 3 i


def test_critic_learns_and_trains_the_shared_trunk(batch_from_rows):
    engine = LocalEngine(tiny(), critic=True, clip_norm=math.inf)
    batch = batch_from_rows(ROWS, adv=[[float(i) for _ in row] for i, row in enumerate(ROWS)], dtype=torch.float32)
    first = engine.forward_backward(batch, squared_error).value
    assert gradient(engine)["embed.weight"].abs().max() == 0  # behind a head of zeros
    engine.optim_step(learning_rate=1e-2)
    engine.forward_backward(batch, squared_error)
    assert gradient(engine)["embed.weight"].abs().max() > 0
    engine.optim_step(learning_rate=1e-2)
    take_steps(engine, [batch] * 40, squared_error)
    assert engine.forward_backward(batch, squared_error).value < 0.2 * first


def test_value_is_none_without_critic(batch_from_rows):
    seen = []

    def loss(out, batch):
        seen.append(out.value_BT)
        return LossOut(out.logp_BT.sum(), {})

    LocalEngine(tiny()).forward_backward(batch_from_rows(ROWS), loss)
    assert seen == [None]


def test_kl_to_the_reference_is_zero_at_step_0(batch_from_rows, likelihood):  # trap 32
    engine = LocalEngine(tiny(), reference=True)
    engine.model.module.train()
    batch = batch_from_rows(ROWS)
    policy, reference = engine.forward(batch)["logp"], engine.forward(batch, reference=True)["logp"]
    assert torch.equal(policy, reference) and engine.model.module.training
    take_steps(engine, [batch], likelihood)
    assert torch.equal(engine.forward(batch, reference=True)["logp"], reference)
    assert not torch.equal(engine.forward(batch)["logp"], policy)


class Adapted(TinyModel):
    """A tiny model with one trained vector as adapter."""

    def __init__(self, model):
        super().__init__(model.module, pad_id=0)
        self.module.requires_grad_(False)
        self.module.adapter = torch.nn.Parameter(torch.full((CONFIG.vocab_size,), 0.1))
        self.on = True

    def head(self, hidden):
        return super().head(hidden) + self.module.adapter * self.on

    def linear_head(self):
        return self.module.embed.weight, self.module.adapter * self.on

    @contextmanager
    def without_adapter(self):
        self.on = False
        yield
        self.on = True

    def __deepcopy__(self, memo):
        raise AssertionError("an adapter model is never copied")


def test_adapter_is_disabled_for_the_reference(batch_from_rows, likelihood, tmp_path):
    engine, batch = LocalEngine(Adapted(tiny()), reference=True), batch_from_rows(ROWS)
    base = LocalEngine(tiny()).forward(batch)["logp"]
    take_steps(engine, [batch], likelihood)
    assert torch.equal(engine.forward(batch, reference=True)["logp"], base) and engine.model.on
    assert not torch.equal(engine.forward(batch)["logp"], base)
    engine.save(tmp_path / "x")
    again = LocalEngine(Adapted(tiny()), reference=True)
    again.load(tmp_path / "x")
    assert torch.equal(again.forward(batch)["logp"], engine.forward(batch)["logp"])


# --- restart -----------------------------------------------------------------------------------------------------


def test_restarted_engine_trains_like_a_new_engine_of_equal_weights(batch_from_rows, likelihood):
    used, batch = LocalEngine(tiny(), reference=True), batch_from_rows(ROWS)
    take_steps(used, [batch] * 3, likelihood)
    assert not torch.equal(used.forward(batch)["logp"], used.forward(batch, reference=True)["logp"])
    used.restart()
    assert used.version == 3 and torch.equal(used.forward(batch)["logp"], used.forward(batch, reference=True)["logp"])
    fresh = tiny()
    fresh.module.load_state_dict(used.model.module.state_dict())
    new = LocalEngine(fresh, reference=True)
    for engine in (used, new):
        take_steps(engine, [batch] * 3, likelihood)
    assert all(torch.equal(a, b) for a, b in zip(weights(used).values(), weights(new).values(), strict=True))
    engine = LocalEngine(tiny())
    engine.forward_backward(batch, likelihood)
    with pytest.raises(InputError, match="restart after optim_step"):
        engine.restart()


def test_restart_of_a_trained_adapter_engine_raises(batch_from_rows, likelihood):
    engine = LocalEngine(Adapted(tiny()), reference=True)
    engine.restart()
    take_steps(engine, [batch_from_rows(ROWS)], likelihood)
    with pytest.raises(InputError, match="merge the adapter"):
        engine.restart()


def test_load_weights_works_with_any_critic_and_reference(batch_from_rows, likelihood, tmp_path):
    source, batch = LocalEngine(tiny(), critic=True), batch_from_rows(ROWS)
    take_steps(source, [batch] * 2, likelihood)
    source.save(tmp_path / "kept")
    for options in ({}, {"reference": True}, {"critic": True, "reference": True}):
        engine = LocalEngine(tiny(), **options)
        take_steps(engine, [batch], likelihood)
        engine.load_weights(tmp_path / "kept")
        assert engine.version == 2 and torch.equal(engine.forward(batch)["logp"], source.forward(batch)["logp"])
        if "reference" in options:
            assert torch.equal(engine.forward(batch, reference=True)["logp"], engine.forward(batch)["logp"])
        if "critic" in options:
            assert not engine.forward(batch, names=("value",))["value"].any()
    (tmp_path / "kept" / "engine.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError):
        engine.load_weights(tmp_path / "kept")


def test_start_digest_depends_on_weights_and_optimiser_settings(batch_from_rows, likelihood):
    plain = LocalEngine(tiny()).start_digest()
    for options in ({}, {"critic": True}, {"reference": True}, {"max_rows": 3}):
        assert LocalEngine(tiny(), **options).start_digest() == plain
    for options in ({"clip_norm": 0.5}, {"weight_decay": 0.1}, {"betas": (0.9, 0.98)}):
        assert LocalEngine(tiny(), **options).start_digest() != plain
    engine = LocalEngine(tiny())
    take_steps(engine, [batch_from_rows(ROWS)], likelihood)
    assert engine.start_digest() != plain


def test_forward_names_unknown_measures_and_missing_parts(batch_from_rows):
    engine, batch = LocalEngine(tiny()), batch_from_rows(ROWS)
    for names, reference, words in (
        (("logp", "logprob"), False, "not logprob"),
        (("value",), False, "critic=True"),
        (("logp",), True, "reference=True"),
    ):
        with pytest.raises(InputError, match=words):
            engine.forward(batch, names=names, reference=reference)
    with pytest.raises(InputError, match="rows of 21 tokens, the model reads 20"):
        engine.forward(batch_from_rows([[1] * 21]))


# --- steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", [[[0, 1, 2, 3]], [[0], [1], [2], [3]], [[3, 1], [0, 2]], [[2], [0, 1, 3]]])
def test_gradients_of_micro_batches_add_up(split, batch_from_rows, likelihood):  # trap 18
    batch = batch_from_rows(ROWS, adv=[[0.3 * t - i for t in range(len(row))] for i, row in enumerate(ROWS)])
    uninterrupted, parts = LocalEngine(tiny(torch.float64)), LocalEngine(tiny(torch.float64))
    want = uninterrupted.forward_backward(batch, likelihood)
    got = [parts.forward_backward(batch.rows(torch.tensor(rows)), likelihood) for rows in split]
    assert sum(g.value for g in got).item() == pytest.approx(want.value.item(), abs=1e-12)
    assert sum(g.metrics["nll"] for g in got) == pytest.approx(want.metrics["nll"], abs=1e-12)
    assert not want.value.requires_grad
    for name, g in gradient(uninterrupted).items():
        assert torch.allclose(g, gradient(parts)[name], atol=1e-12)


def test_entropy_is_lazy_and_has_a_gradient(batch_from_rows):
    engine, batch = LocalEngine(tiny(torch.float64)), batch_from_rows(ROWS)
    want = engine.forward(batch, names=("entropy",))["entropy"]

    def loss(out, batch):
        if not engine.version:
            assert torch.equal(out.entropy().detach(), want)
        return LossOut(-torch.where(batch.mask_BT, out.entropy(), 0.0).sum(), {})

    take_steps(engine, [batch] * 5, loss)
    assert engine.forward(batch, names=("entropy",))["entropy"].sum() > want.sum()


def test_clipping_scales_and_reports_the_norm_before(bigram, batch_from_rows, likelihood):
    norms, moved = [], []
    for clip in (math.inf, 1e-3):
        engine, batch = LocalEngine(bigram(), clip_norm=clip), batch_from_rows([[0, 1, 1], [2, 0]])
        engine.forward_backward(batch, likelihood)
        length = torch.cat([g.flatten() for g in gradient(engine).values() if g is not None]).norm().item()
        metrics = engine.optim_step(learning_rate=0.1)
        assert metrics == {"grad_norm": pytest.approx(length), "grad_clipped": float(clip < 1), "learning_rate": 0.1}
        norms.append(metrics["grad_norm"])
        moved.append(engine._optimizer.state[engine.model.module.table]["exp_avg"].norm().item())
    assert norms[0] == norms[1] and moved == [pytest.approx(0.1 * length), pytest.approx(0.1e-3, rel=1e-2)]


def test_weight_decay_applies_to_matrices_only(learned, batch_from_rows):
    engine = LocalEngine(learned(), weight_decay=0.5)
    before = copy.deepcopy(weights(engine))
    engine.forward_backward(batch_from_rows([[1, 2]]), lambda o, b: LossOut(o.logp_BT.sum() * 0, {}))
    engine.optim_step(learning_rate=0.1)
    for name, p in weights(engine).items():
        assert torch.allclose(p, before[name] * (0.95 if p.ndim == 2 else 1.0)), name


def test_frozen_parameters_do_not_change(learned, batch_from_rows, likelihood):
    model = learned()
    model.module["head"].requires_grad_(False)
    engine = LocalEngine(model)
    take_steps(engine, [batch_from_rows([[1, 2, 3]])], likelihood)
    assert torch.equal(model.module["head"].weight, learned().module["head"].weight)
    assert not torch.equal(model.module["qkv"].weight, learned().module["qkv"].weight)
    model.module.requires_grad_(False)
    with pytest.raises(InputError, match="nothing to train"):
        LocalEngine(model)


def test_nonfinite_gradient_raises_and_changes_nothing(batch_from_rows, likelihood):
    engine, batch = LocalEngine(tiny()), batch_from_rows(ROWS, dtype=torch.float32)
    take_steps(engine, [batch], likelihood)
    before, moments = copy.deepcopy(weights(engine)), copy.deepcopy(engine._optimizer.state_dict())

    def steep(out, batch):  # finite value, infinite gradient
        return LossOut((out.logp_BT[:, 1:].sum() * 0).sqrt() + likelihood(out, batch).value, {})

    engine.forward_backward(batch, steep)
    with pytest.raises(TrainingError, match=r"gradient norm is nan in weights\.embed.*unchanged"):
        engine.optim_step(learning_rate=0.1)
    assert engine.version == 1 and all(torch.equal(p, before[name]) for name, p in weights(engine).items())
    after = engine._optimizer.state_dict()["state"]
    assert all(torch.equal(after[i][k], v) for i, s in moments["state"].items() for k, v in s.items())
    take_steps(engine, [batch], likelihood)
    assert engine.version == 2


def test_nonfinite_loss_names_metrics_and_rows(batch_from_rows, likelihood):
    engine, batch = LocalEngine(tiny(), critic=True), batch_from_rows(ROWS)
    batch.adv_BT[2, 3] = math.inf
    engine.forward_backward(batch_from_rows(ROWS), likelihood)
    with pytest.raises(TrainingError, match=r"metrics nll; adv in rows 2 \(rollouts 2\)\. The weights are unchanged"):
        engine.forward_backward(batch, likelihood)
    with pytest.raises(TrainingError, match="no gradient"):
        engine.optim_step(learning_rate=0.1)


def test_step_without_trained_tokens_or_gradient_raises(batch_from_rows, likelihood):
    engine = LocalEngine(tiny())
    empty = [[False] * len(row) for row in ROWS]
    with pytest.raises(TrainingError, match="no token of the optimiser step trains"):
        engine.forward_backward(batch_from_rows(ROWS, mask=empty), likelihood)
    with pytest.raises(TrainingError, match="does not depend"):
        engine.forward_backward(batch_from_rows(ROWS), lambda o, b: LossOut(torch.zeros(()), {}))
    # A micro-batch without trained tokens adds nothing, if another one of the step has some.
    part = batch_from_rows([ROWS[0], [1, 2]], mask=[[False] + [True] * 4, [False] * 2]).rows(torch.tensor([1]))
    assert engine.forward_backward(part, likelihood).value == 0
    assert engine.forward_backward(part, lambda o, b: LossOut(torch.zeros(()), {})).value == 0
    for rate in (-1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="learning rate"):
            engine.optim_step(learning_rate=rate)


def test_invalid_options_raise():
    for bad in ({"clip_norm": 0.0}, {"max_rows": 0}, {"micro_batch_rows": 0}):
        with pytest.raises(InputError):
            LocalEngine(tiny(), **bad)


# --- checkpoints -------------------------------------------------------------------------------------------------


def critical(out, batch):
    return LossOut(squared_error(out, batch).value - torch.where(batch.mask_BT, out.logp_BT, 0.0).sum(), {})


@pytest.mark.exact
def test_resumed_training_is_bit_for_bit_equal(tmp_path, batch_from_rows):
    batches = [batch_from_rows([row[: 2 + i] for row in ROWS], dtype=torch.float32) for i in range(4)]

    def make():
        return LocalEngine(tiny(), critic=True, reference=True, weight_decay=0.1)

    uninterrupted = make()
    first = make()
    second = make()
    take_steps(uninterrupted, batches, critical)
    take_steps(first, batches[:2], critical)
    first.save(tmp_path / "x")
    drawn = torch.rand(3)
    take_steps(second, batches[3:], critical)
    second.load(tmp_path / "x")
    assert torch.equal(torch.rand(3), drawn) and second.version == 2
    take_steps(second, batches[2:], critical)
    assert second.version == uninterrupted.version == 4
    for name, tensor in uninterrupted._weights().items():
        assert torch.equal(second._weights()[name], tensor), name
    requests = [Sample([1, 2], Sampling(max_tokens=8), seed, frozenset()) for seed in range(4)]
    uninterrupted_samples, resumed_samples = uninterrupted.sample(requests), second.sample(requests)
    assert [(d.ids, d.logp, d.version) for d in uninterrupted_samples] == [
        (d.ids, d.logp, d.version) for d in resumed_samples
    ]


def test_checkpoint_restores_reference_and_buffers(tmp_path, learned, batch_from_rows):
    model = learned(seed=1)
    model.module.scale.fill_(2.0)
    engine, batch = LocalEngine(model, reference=True), batch_from_rows([[1, 2, 3]])
    want = engine.forward(batch, reference=True)["logp"]
    engine.save(tmp_path / "x")
    other = LocalEngine(learned(seed=2), reference=True)
    other.load(tmp_path / "x")
    assert torch.equal(other.forward(batch, reference=True)["logp"], want)
    assert torch.equal(other.forward(batch)["logp"], want)


def test_model_folder_of_a_checkpoint_loads_without_engine(tmp_path, batch_from_rows, likelihood):
    engine, batch = LocalEngine(tiny()), batch_from_rows(ROWS)
    take_steps(engine, [batch], likelihood)
    engine.save(tmp_path / "x")
    alone = LocalEngine(TinyModel.load(tmp_path / "x" / "model"))
    assert torch.equal(alone.forward(batch)["logp"], engine.forward(batch)["logp"])


def test_checkpoint_of_another_engine_raises_and_changes_nothing(tmp_path, batch_from_rows, likelihood):
    saved = LocalEngine(tiny(), critic=True)
    take_steps(saved, [batch_from_rows(ROWS)], likelihood)
    saved.save(tmp_path / "x")
    wide = TinyModel(TinyModel.new(TinyConfig(vocab_size=24, width=32, layers=2, heads=2)).module, pad_id=0)
    for model, critic, words in ((tiny(), False, r"has critic\."), (wide, True, "this engine as float32")):
        engine = LocalEngine(model, critic=critic)
        before = copy.deepcopy(weights(engine))
        with pytest.raises(CheckpointError, match=words):
            engine.load(tmp_path / "x")
        assert engine.version == 0 and all(torch.equal(p, before[name]) for name, p in weights(engine).items())


def test_save_with_accumulated_gradient_raises(tmp_path, batch_from_rows, likelihood):
    engine = LocalEngine(tiny())
    engine.forward_backward(batch_from_rows(ROWS), likelihood)
    with pytest.raises(InputError, match="save after optim_step"):
        engine.save(tmp_path / "x")


# --- images --------------------------------------------------------------------------------------------------------


class Album:
    """Environment that answers every turn with another image of the same size."""

    def __init__(self, task):
        self.task, self.turns = task, 0

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        del turn, seed
        self.turns += 1
        return EnvReply((Message.of("tool", noise(self.turns, 16, 16), noise(0, 16, 8), call_id="c", name="look"),))

    def report(self):
        return {}

    def snapshot(self):
        return self.turns

    def restore(self, state):
        self.turns = state

    def close(self):
        pass


class Brief(Compact):
    """No token of a random policy begins another message, and most end its turn."""

    stop_ids = frozenset(range(264)) - {ASSISTANT}
    header_ids = frozenset()


@pytest.fixture(scope="module")
def album():
    """Engine and trajectories of two tasks that differ in an image alone, forked at the starts of two turns."""
    engine = LocalEngine(vision_model(), max_rows=4)
    format = Brief(engine.model.image_processor)
    tasks = [Task(str(k), (Message.of("user", "See", noise(10 + k, 16, 16)),)) for k in range(2)]
    attempts = [
        Attempt(task, Album, format, Sampling(max_tokens=12), f"{task.id}/{seed}", 0, seed, engine.max_length)
        for task in tasks
        for seed in range(2)
    ]
    return engine, [
        one for played in run(attempts, forking(at=turn_starts(count=2), max_turns=3), engine) for one in played
    ]


@pytest.mark.exact
def test_log_probs_of_rollouts_with_images_equal_the_measured(album):
    engine, played = album
    assert len(played) >= 8 and max(len(one.images) for one in played) >= 4
    for one in played:
        check_group(Group(one.task, (one,)))
        assert one.num_image_tokens > 0
        for turn in one.turns:
            sequence = one.sequences[turn.sequence]
            assert sequence.ids.dtype == "int64"
            ids = sequence.ids[: turn.stop].tolist()
            [measured] = engine.measure([Measure(ids, turn.start, images=one.images)])
            assert measured["logp"] == pytest.approx(sequence.logp[turn.start : turn.stop].tolist(), abs=1e-6)


@pytest.mark.exact
def test_trees_equal_rows_in_training_on_rollouts_with_images(album):
    _, played = album
    group = Group(played[0].task, tuple(replace(one, task=played[0].task, sample=k) for k, one in enumerate(played)))
    rated = make_rated(group=group, advantage=[(-1.0) ** k for k in range(len(played))])
    batch = make_batch([rated], pad_id=256, dtype=torch.float64)
    results = []
    for packing in ("tree", "rows"):
        engine = LocalEngine(vision_model(), packing=packing)
        loss = engine.forward_backward(batch, example_loss).value
        gradient = torch.cat([p.grad.flatten() for p in engine.model.module.parameters()])
        norm = engine.optim_step(learning_rate=1e-3)["grad_norm"]
        results.append((loss.item(), gradient, norm, engine.forward(batch)["logp"]))
    (loss, gradient, norm, logp), (other_loss, other_gradient, other_norm, other_logp) = results
    assert loss == pytest.approx(other_loss, abs=1e-10) and norm == pytest.approx(other_norm, rel=1e-8)
    torch.testing.assert_close(gradient, other_gradient, rtol=0, atol=1e-8)
    torch.testing.assert_close(logp, other_logp, rtol=0, atol=1e-5)
