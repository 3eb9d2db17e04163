"""Weights by the names of a checkpoint, adapters added in; files that come and go; the gap of the probe."""

import math
import os

import pytest
import torch
from safetensors.torch import load_file

from handaxe.core.batch import LossOut
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.weights import FileTransport, gap, probe_row, served_weights, write_config
from handaxe.models.huggingface import load_pretrained
from handaxe.testing.engine_case import example_batch


def test_example():
    assert gap([-1.0, -2.5], [-1.0, -2.0]) == 0.5
    assert gap([-1.0, math.nan], [-1.0, -2.0]) == math.inf
    assert gap([-1.0, -math.inf], [-1.0, -math.inf]) == math.inf, "what is not finite proves nothing"


def test_the_row_is_always_the_same_and_fits():
    row = probe_row(50, 100)
    assert row == probe_row(50, 200) and len(row) == 17 and 0 <= min(row) <= max(row) < 50
    assert len(probe_row(50, 9)) == 9


@pytest.mark.hf
def test_served_weights_are_a_checkpoints(small_llamas, tmp_path):
    model = load_pretrained(small_llamas / "0")
    got, want = served_weights(model.module), load_file(small_llamas / "0" / "model.safetensors")
    assert got.keys() == want.keys()
    assert all(torch.equal(got[name], want[name]) for name in want)
    next(iter(got.values())).zero_()
    assert torch.equal(next(iter(model.module.parameters())).cpu(), want[next(iter(got))]), "they are copies"
    write_config(model.module, tmp_path)
    assert "LlamaForCausalLM" in (tmp_path / "config.json").read_text()


@pytest.mark.hf
def test_an_adapter_is_added_into_what_it_adapts(small_llamas, tmp_path):
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
    assert torch.equal(served_weights(model.module, doubled)[name], 2 * got[name]), "those that are given are taken"
    write_config(model.module, tmp_path)
    assert "LlamaForCausalLM" in (tmp_path / "config.json").read_text()


@pytest.mark.hf
def test_an_adapter_of_another_kind_is_refused(small_llamas):
    model = load_pretrained(small_llamas / "0", lora={"r": 4, "use_dora": True})
    with pytest.raises(InputError, match="LoRA on linear layers only"):
        served_weights(model.module)


@pytest.mark.parametrize("said", ["argument", "variable"])
def test_files_hold_the_last_weights_only(tmp_path, monkeypatch, said):
    monkeypatch.setenv("HANDAXE_WEIGHTS", str(tmp_path if said == "variable" else "/nowhere"))
    files = FileTransport(tmp_path if said == "argument" else None)
    for value in (1.0, 2.0):
        files.prepare({"a": torch.full((2, 3), value).T})
        (found,) = tmp_path.rglob("*.safetensors")
        assert torch.equal(load_file(found)["a"], torch.full((3, 2), value))
    files.close()
    files.close()
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_written_whole_is_removed_and_the_one_before_stays(tmp_path, monkeypatch):
    def runs_out(tensors, file):
        file.write_bytes(b"half of it")
        raise OSError(28, "No space left on device")

    files = FileTransport(tmp_path)
    files.prepare({"a": torch.zeros(2)})
    with monkeypatch.context() as patch:
        patch.setattr("handaxe.engines.vllm.weights.save_file", runs_out)
        with pytest.raises(InfrastructureError, match="cannot be written.*No space"):
            files.prepare({"a": torch.ones(2)})
    (found,) = tmp_path.rglob("*.safetensors")
    assert torch.equal(load_file(found)["a"], torch.zeros(2))
    files.prepare({"a": torch.ones(2)})
    (found,) = tmp_path.rglob("*.safetensors")
    assert torch.equal(load_file(found)["a"], torch.ones(2))
    files.close()


def test_what_a_killed_process_left_in_memory_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("handaxe.engines.vllm.weights.NEAR", tmp_path)
    left, young, other = (tmp_path / name for name in ("handaxe-weights-a", "handaxe-weights-b", "other"))
    used = FileTransport()
    used.prepare({"a": torch.zeros(2)})
    (folder,) = tmp_path.iterdir()
    for each in (left, young, other):
        each.mkdir()
        (each / "1.safetensors").write_bytes(b"weights")
    for each in (folder, left, other):
        os.utime(each, (0, 0))
    files = FileTransport()
    files.prepare({"a": torch.ones(2)})
    assert not left.exists() and young.exists() and other.exists()
    assert len(list(folder.iterdir())) == 1, "the file of a process that runs stays"
    used.close()
    files.close()
    assert set(tmp_path.iterdir()) == {young, other}


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="folder for the servers' weights.*nowhere"):
        FileTransport(tmp_path / "nowhere").prepare({"a": torch.zeros(2)})


def test_a_folder_that_cannot_be_written_is_an_error_that_says_so(tmp_path):
    files = FileTransport(tmp_path)
    files.prepare({"a": torch.zeros(2)})
    for place in tmp_path.iterdir():
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
    with pytest.raises(InfrastructureError, match="cannot be written"):
        files.prepare({"a": torch.zeros(2)})
