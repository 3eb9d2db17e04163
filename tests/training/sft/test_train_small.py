"""Tests of the small policy's training: exact resume, loss, schedule, a continued run, the written files."""

import json

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.training.sft import train_small as module
from handaxe.training.sft.train_small import Training, train_small

pytest.importorskip("tokenizers")
CONFIG = TinyConfig(vocab_size=300, width=16, layers=1, heads=2, max_length=256, kv_heads=1)
SHORT = Training(steps=4, tokens=200, early_steps=2, warmup=2, bfloat16=False)


def trained(out, training=SHORT, **changes):
    return train_small(out=out, training=training, config=CONFIG, only=("lookups", "calls"), most=12, **changes)


def weights(model):
    return torch.cat([value.flatten() for value in model.module.state_dict().values()])


def test_killed_training_continues_to_equal_weights(tmp_path, monkeypatch):
    whole = trained(tmp_path / "whole")
    take, taken = module._Run.take, []

    def killed(self, drawn):
        if len(taken) == 3:
            raise KeyboardInterrupt
        taken.append(take(self, drawn))

    with monkeypatch.context() as patch:
        patch.setattr(module._Run, "take", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "killed", minutes=0)
    (checkpoint,) = (tmp_path / "killed").glob("checkpoint-*")
    assert checkpoint.name == "checkpoint-000003"
    continued = trained(tmp_path / "killed")
    assert torch.equal(weights(whole), weights(continued))


def test_written_model_is_bfloat16_and_has_its_vocabulary(tmp_path, capsys):
    model = trained(tmp_path)
    policy = load(str(tmp_path / "model"))
    assert isinstance(policy.format, Pieces) and policy.model.pieces == (tmp_path / "pieces.json").read_text()
    assert torch.equal(weights(model), weights(policy.model)) and policy.model.module.config == CONFIG
    assert json.loads((tmp_path / "model" / "config.json").read_text())["dtype"] == "bfloat16"
    assert "step 4/4 loss" in capsys.readouterr().out


def test_other_settings_are_another_training(tmp_path):
    trained(tmp_path)
    with pytest.raises(InputError, match="holds a training with other training"):
        trained(tmp_path, Training(steps=4, tokens=200, early_steps=2, warmup=2, bfloat16=False, seed=1))
    with pytest.raises(InputError, match="no setting is named 'chess'"):
        train_small(out=tmp_path, only=("chess",))


def test_steps_may_grow_in_a_continued_training(tmp_path):
    trained(tmp_path)
    assert trained(tmp_path, Training(**{**vars(SHORT), "steps": 6})) is not None
    assert json.loads((tmp_path / "checkpoint-000006" / "state.json").read_text())["step"] == 6


def test_rate_rises_stays_and_falls_to_zero():
    training = Training(steps=10, rate=1.0, warmup=2, decay=0.5)
    rates = [training.rate_at(step) for step in range(10)]
    assert rates == pytest.approx([0.5, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2])


def test_step_draws_by_seed_and_step_from_early_settings_first(tmp_path):
    settings = module._chosen(("lookups", "calls", "library"))
    tokens = module._prepare(settings, tmp_path, CONFIG, 0, 12)[1]
    first, again, other = (module._draw(settings, tokens, SHORT, step) for step in (0, 0, 1))
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first, again, strict=True))
    assert [len(ids) for ids, _ in first] == sorted(len(ids) for ids, _ in first)
    assert sum(len(ids) for ids, _ in first) >= SHORT.tokens
    assert [one[0].tolist() for one in first] != [one[0].tolist() for one in other]
    library = {tokens[2][number][0].tobytes() for number in range(len(tokens[2]))}
    drawn = [
        {one[0].tobytes() for step in steps for one in module._draw(settings, tokens, SHORT, step)}
        for steps in ((0, 1), range(2, 8))
    ]
    assert not drawn[0] & library and drawn[1] & library


def test_loss_is_the_mean_over_the_policys_ids_in_any_micro_batches(monkeypatch):
    """Slow twin: one row at a time, one id at a time."""
    model = TinyModel.new(CONFIG, seed=1)
    model.module.double()
    rng = np.random.default_rng(0)
    drawn = sorted(((rng.integers(0, 300, n), rng.random(n) < 0.5) for n in (9, 4, 6, 30)), key=lambda one: len(one[0]))
    want = 0.0
    for ids, mask in drawn:
        row = torch.from_numpy(ids)[None]
        logp = model.head(model.hidden(row, row >= 0))[0].log_softmax(-1)
        want -= sum(float(logp[t - 1, ids[t]].detach()) for t in range(1, len(ids)) if mask[t])
    for most in (1, 20, 4096):
        monkeypatch.setattr(module, "MICRO", most)
        batches = list(module._micro_batches(drawn, model.pad_id))
        assert sum(len(ids_BT) for ids_BT, _ in batches) == 4 and (most != 1 or len(batches) == 4)
        got = sum(float(module._summed_loss(model, *batch, bfloat16=False).detach()) for batch in batches)
        assert got == pytest.approx(want, abs=1e-4)  # the sum is taken in float32
