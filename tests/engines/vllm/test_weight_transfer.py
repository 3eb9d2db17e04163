"""Served weights by checkpoint name, weight files, and the gap of the probe."""

import math
import os

import pytest
import torch
from helpers.image_records import noise
from safetensors.torch import load_file

from handaxe.core.batch import LossOut
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.weight_transfer import FileTransport, logp_gap, probe_row, served_weights, write_config
from handaxe.models.huggingface import load_pretrained
from handaxe.testing.engine_case import example_batch


def test_logp_gap_is_the_largest_difference_or_infinite():
    assert logp_gap([-1.0, -2.5], [-1.0, -2.0]) == 0.5
    assert logp_gap([-1.0, math.nan], [-1.0, -2.0]) == math.inf
    assert logp_gap([-1.0, -math.inf], [-1.0, -math.inf]) == math.inf, "non-finite log-probs verify nothing"


def test_probe_row_is_deterministic_and_bounded():
    row = probe_row(50, 100)
    assert row == probe_row(50, 200) and len(row) == 17 and 0 <= min(row) <= max(row) < 50
    assert len(probe_row(50, 9)) == 9


@pytest.mark.hf
def test_served_weights_have_checkpoint_names(small_llamas, tmp_path):
    model = load_pretrained(small_llamas / "0")
    got, want = served_weights(model.module), load_file(small_llamas / "0" / "model.safetensors")
    assert got.keys() == want.keys()
    assert all(torch.equal(got[name], want[name]) for name in want)
    next(iter(got.values())).zero_()
    assert torch.equal(next(iter(model.module.parameters())).cpu(), want[next(iter(got))]), "served weights are copies"
    write_config(model.module, tmp_path)
    assert "LlamaForCausalLM" in (tmp_path / "config.json").read_text()


@pytest.mark.hf
def test_folder_of_a_vision_model_has_the_files_of_its_processor(tmp_path):
    from transformers import AutoTokenizer

    from handaxe.models.image_processors import load_image_processor
    from handaxe.testing.vision_models import small_vision

    small, image = small_vision("idefics3"), noise(0, 100, 70)
    write_config(small.module, tmp_path, image_processor=small.images)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    loaded = load_image_processor(tmp_path, tokenizer, "idefics3")
    assert "Idefics3ForConditionalGeneration" in (tmp_path / "config.json").read_text()
    assert (loaded.tokens(image).ids == small.images.tokens(image).ids).all()


@pytest.mark.hf
def test_served_weights_merge_lora(small_llamas, tmp_path):
    model = load_pretrained(small_llamas / "0", lora={"r": 4, "lora_alpha": 12})
    batch = example_batch(model)
    engine = LocalEngine(model)
    engine.forward_backward(batch, lambda out, batch: LossOut(out.logp_BT.sum(), {}))
    engine.optim_step(learning_rate=0.1)
    model.save_merged(tmp_path / "merged")
    want = load_file(tmp_path / "merged" / "model.safetensors")
    got = served_weights(model.module)
    assert got.keys() == want.keys()
    for name in want:
        torch.testing.assert_close(got[name], want[name], atol=1e-6, rtol=1e-5)
    base = load_file(small_llamas / "0" / "model.safetensors")
    assert not torch.equal(got["model.layers.0.mlp.up_proj.weight"], base["model.layers.0.mlp.up_proj.weight"])
    doubled = {name: 2 * p.detach() for name, p in model.module.named_parameters()}
    name = "model.embed_tokens.weight"
    assert torch.equal(served_weights(model.module, doubled)[name], 2 * got[name]), "given tensors take precedence"
    write_config(model.module, tmp_path)
    assert "LlamaForCausalLM" in (tmp_path / "config.json").read_text()


@pytest.mark.hf
def test_dora_adapter_is_refused(small_llamas):
    model = load_pretrained(small_llamas / "0", lora={"r": 4, "use_dora": True})
    with pytest.raises(InputError, match="LoRA on linear layers only"):
        served_weights(model.module)


@pytest.mark.parametrize("source", ["argument", "variable"])
def test_folder_holds_the_last_weights_only(tmp_path, monkeypatch, source):
    monkeypatch.setenv("HANDAXE_WEIGHTS", str(tmp_path if source == "variable" else "/nowhere"))
    files = FileTransport(tmp_path if source == "argument" else None)
    for value in (1.0, 2.0):
        files.prepare({"a": torch.full((2, 3), value).T})
        (found,) = tmp_path.rglob("*.safetensors")
        assert torch.equal(load_file(found)["a"], torch.full((3, 2), value))
    files.close()
    files.close()
    assert not list(tmp_path.iterdir())


def test_partial_file_is_removed_and_the_previous_file_stays(tmp_path, monkeypatch):
    def fill_disk(tensors, file):
        file.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    files = FileTransport(tmp_path)
    files.prepare({"a": torch.zeros(2)})
    with monkeypatch.context() as patch:
        patch.setattr("handaxe.engines.vllm.weight_transfer.save_file", fill_disk)
        with pytest.raises(InfrastructureError, match="cannot write the weights.*No space"):
            files.prepare({"a": torch.ones(2)})
    (found,) = tmp_path.rglob("*.safetensors")
    assert torch.equal(load_file(found)["a"], torch.zeros(2))
    files.prepare({"a": torch.ones(2)})
    (found,) = tmp_path.rglob("*.safetensors")
    assert torch.equal(load_file(found)["a"], torch.ones(2))
    files.close()


def test_weights_of_killed_processes_are_removed_from_shared_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("handaxe.engines.vllm.weight_transfer.SHARED_MEMORY", tmp_path)
    stale, recent, other = (tmp_path / name for name in ("handaxe-weights-a", "handaxe-weights-b", "other"))
    used = FileTransport()
    used.prepare({"a": torch.zeros(2)})
    (folder,) = tmp_path.iterdir()
    for each in (stale, recent, other):
        each.mkdir()
        (each / "1.safetensors").write_bytes(b"weights")
    for each in (folder, stale, other):
        os.utime(each, (0, 0))
    files = FileTransport()
    files.prepare({"a": torch.ones(2)})
    assert not stale.exists() and recent.exists() and other.exists()
    assert len(list(folder.iterdir())) == 1, "the file of a running process stays"
    used.close()
    files.close()
    assert set(tmp_path.iterdir()) == {recent, other}


def test_missing_folder_raises_input_error(tmp_path):
    with pytest.raises(InputError, match="folder for the servers' weights.*nowhere"):
        FileTransport(tmp_path / "nowhere").prepare({"a": torch.zeros(2)})


def test_unwritable_folder_raises_infrastructure_error(tmp_path):
    files = FileTransport(tmp_path)
    files.prepare({"a": torch.zeros(2)})
    for folder in tmp_path.iterdir():
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    with pytest.raises(InfrastructureError, match="cannot write the weights"):
        files.prepare({"a": torch.zeros(2)})
