"""`load` on what runs leave: the policy, and the very format that it was trained with."""

import json
import shutil

import pytest
import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import dummy_policy, load, load_format
from handaxe.training.loop.train import train
from handaxe.training.stages.run_stages import run_stages


def state(model):
    return {name: value.clone() for name, value in model.module.state_dict().items()}


@pytest.fixture
def trained(world, tmp_path):
    engine, run = world.make_engine(), tmp_path / "run"
    train(**world.arguments(engine=engine, out=run, steps=3, checkpoint_every=2))
    return engine, run


def test_a_run_is_its_last_checkpoint(world, trained):
    engine, run = trained
    for where in (run, str(run), run / "checkpoints", run / "checkpoints" / "step-000003"):
        model, format = load(where)
        assert world.same(state(model), state(engine.model)) and isinstance(format, Compact)
    for inside in ("engine", "engine/model"):
        assert world.same(state(load(run / "checkpoints/step-000003" / inside).model), state(engine.model))
    before = load(run / "checkpoints" / "step-000002")
    assert not world.same(state(before.model), state(engine.model))
    assert isinstance(load_format(run), Compact) and dummy_policy(run).model.max_length == engine.max_length


def test_what_an_engine_saved(world, tmp_path):
    engine = world.make_engine()
    engine.save(tmp_path / "saved")
    model, format = load(tmp_path / "saved")
    assert world.same(state(model), state(engine.model)) and isinstance(format, Compact)


def test_stages_are_the_last_that_has_a_checkpoint(world, tmp_path):
    site = world.site(out=tmp_path)
    run_stages(world.stages(), site)
    assert world.same(state(load(tmp_path).model), state(site.engine.model))
    first = load(tmp_path / "00-teach")
    assert not world.same(state(first.model), state(site.engine.model))
    for name in ("01-reinforce", "02-repeat"):
        shutil.rmtree(tmp_path / name)
    assert world.same(state(load(tmp_path).model), state(first.model))


def test_a_run_without_a_checkpoint_says_so(trained):
    _, run = trained
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(InputError, match="has no checkpoint yet"):
        load(run)


def test_a_damaged_checkpoint_is_named(trained):
    _, run = trained
    file = run / "checkpoints" / "step-000003" / "engine" / "model" / "model.safetensors"
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged"):
        load(run)


def test_a_run_of_an_earlier_handaxe_needs_its_format(trained):
    _, run = trained
    shutil.rmtree(run / "format")
    with pytest.raises(InputError, match="has no saved chat format") as caught:
        load(run)
    assert "\n" not in str(caught.value) and "format=" in str(caught.value)
    own = Compact()
    assert load(run, format=own).format is own


class Own(Compact):
    """A format of a user's."""


def test_a_format_of_ones_own_is_named_and_handed_over(world, tmp_path):
    train(**world.arguments(format=Own(), out=tmp_path / "run", steps=1))
    with pytest.raises(InputError, match=r"a user-defined chat format, .*Own: pass it"):
        load(tmp_path / "run")
    assert isinstance(load(tmp_path / "run", format=Own()).format, Own)


def test_resuming_with_another_format_is_refused(world, trained):
    engine, run = trained
    before = state(engine.model)
    with pytest.raises(CheckpointError, match='another chat format .*format "compact" and not "own"'):
        train(**world.arguments(engine=engine, format=Own(), out=run, resume=True, steps=4))
    assert world.same(before, state(engine.model))


# --- adapters on a model of transformers --------------------------------------------------------------------------


@pytest.fixture
def base(small_llamas):
    return small_llamas


def adapted(base, seed=0):
    from handaxe.models.huggingface import load_pretrained

    return LocalEngine(load_pretrained(base / str(seed), lora={"r": 2}), reference=True)


def lora_run(world, engine, out, steps, resume=False):
    from handaxe.models.chat_formats.chat_template import ChatTemplate

    format = ChatTemplate(engine.model.tokenizer, options={"mood": "kindly "})
    changes = {"engine": engine, "format": format, "out": out, "steps": steps, "resume": resume}
    return train(**world.arguments(checkpoint_every=2, annotate=("ref_logp",), **changes))


@pytest.fixture
def lora(world, base, tmp_path):
    engine = adapted(base)
    lora_run(world, engine, tmp_path / "run", 2)
    return engine, tmp_path / "run"


@pytest.mark.hf
def test_a_lora_checkpoint_holds_the_adapter_and_names_its_base(lora, base):
    from safetensors.torch import load_file

    engine, run = lora
    (folder,) = (run / "checkpoints").iterdir()
    frozen = {tuple(p.shape) for p in engine.model.module.parameters() if not p.requires_grad}
    files = list((folder / "engine").rglob("*.safetensors"))
    held = {name: tuple(tensor.shape) for file in files for name, tensor in load_file(file).items()}
    assert any(".lora_A." in name for name in held) and any(name.startswith("optimizer.") for name in held)
    assert not [name for name in held if "lora_" not in name and not name.startswith("rng.")]
    assert not frozen & set(held.values())
    kept = json.loads((folder / "engine/model/adapter/base.json").read_text())
    assert kept["where"] == str(base / "0") and len(kept["digest"]) == 64


@pytest.mark.hf
def test_a_lora_run_is_loaded_with_its_format(world, lora):
    from handaxe.core.records import Message

    engine, run = lora
    model, format = load(run)
    assert world.same(state(model), state(engine.model))
    ids = format.start([Message("user", "hello")], ()).ids
    assert format.decode(ids).startswith("<turn>kindly user hello<end>")
    assert load_format(run).start([Message("user", "hello")], ()).ids == ids
    assert dummy_policy(run).model.max_length == 600 and model.tokenizer is format.origin.tokenizer


@pytest.mark.hf
@pytest.mark.exact
def test_a_lora_run_is_resumed_to_the_bit(world, lora, base, tmp_path):
    _, run = lora
    whole, again = adapted(base), adapted(base)
    lora_run(world, whole, tmp_path / "whole", 4)
    lora_run(world, again, run, 4, resume=True)
    assert world.same(state(whole.model), state(again.model))
    from_disk = LocalEngine(load(run).model, reference=True)
    from_disk.load(run / "checkpoints" / "step-000004" / "engine")
    assert world.same(state(whole.model), state(from_disk.model)) and from_disk.version == whole.version
    with whole.model.without_adapter(), from_disk.model.without_adapter():
        ids = torch.arange(20)[None]
        assert torch.equal(whole.model.hidden(ids, ids >= 0), from_disk.model.hidden(ids, ids >= 0))


@pytest.mark.hf
def test_another_base_is_refused(world, lora, base, tmp_path):
    from handaxe.models.huggingface import load_pretrained

    _, run = lora
    with pytest.raises(CheckpointError, match="trained on other frozen weights") as caught:
        lora_run(world, adapted(base, seed=1), run, 4, resume=True)
    assert "\n" not in str(caught.value)
    with pytest.raises(CheckpointError, match="trained on other weights than those of the base"):
        load(run, base=base / "1")
    moved = shutil.copytree(base / "0", tmp_path / "moved")
    assert world.same(state(load(run, base=moved).model), state(load(run).model))
    file = run / "checkpoints/step-000002/engine/model/adapter/base.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "where": str(tmp_path / "gone")}))
    with pytest.raises(
        InputError, match="the base .*gone of the adapter in .* does not exist: pass its new folder as base="
    ):
        load_pretrained(file.parents[1])
    with pytest.raises(InputError, match="base= is for LoRA checkpoints, and tiny is none"):
        load("tiny", base=moved)
