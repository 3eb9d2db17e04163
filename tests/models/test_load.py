import json
from pathlib import Path

import pytest
import torch
from helpers.vision_policy import vision_model

import handaxe.models.load
from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.records import Message, Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.models.chat_formats.saved_format import save_format
from handaxe.models.load import dummy_policy, load, load_format
from handaxe.models.saved_policy import file_manifest
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.tools.calculator import calculator

PACKAGED = Path(handaxe.models.load.__file__).with_name("tiny_checkpoint")


def test_tiny_is_the_packaged_checkpoint_under_four_megabytes():
    model, format = load("tiny")
    assert isinstance(model, TinyModel) and isinstance(format, Compact)
    assert sum(file.stat().st_size for file in PACKAGED.iterdir()) < 4e6


def test_small_is_the_packaged_checkpoint_under_twelve_megabytes():
    pytest.importorskip("tokenizers")
    model, format = load("small")
    assert isinstance(model, TinyModel) and isinstance(format, Pieces)
    assert model.vocab_size == format.vocab_size == 2048 and model.max_length == 4096
    assert (model.module.config.heads, model.module.config.cached_heads) == (8, 2)
    assert next(model.module.parameters()).dtype == torch.float32
    assert sum(file.stat().st_size for file in PACKAGED.with_name("small_checkpoint").iterdir()) < 12e6
    dummy = dummy_policy("small")
    assert (dummy.model.vocab_size, dummy.model.max_length) == (2048, 4096)
    assert dummy.format.vocabulary == format.vocabulary == load_format("small").vocabulary


def test_small_answers_a_sum_with_a_call():
    pytest.importorskip("tokenizers")
    model, format = load("small")
    prompt = format.start([Message("user", "12*34=?")], [calculator.schema]).ids
    greedy = Sampling(temperature=0.0, max_tokens=32)
    (turn,) = LocalEngine(model).sample([Sample(prompt, greedy, 0, format.stop_ids, format.header_ids)])
    assert [call.name for call in format.parse(turn.ids, [calculator.schema]).calls] == ["calculator"]


def test_load_reads_a_tiny_model_from_a_folder(tmp_path):
    TinyModel.new(TinyConfig(width=32, layers=1, heads=2)).save(tmp_path)
    assert load(str(tmp_path)).model.hidden_size == 32


def test_load_of_a_missing_folder_is_an_input_error(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(InputError):
        load(str(tmp_path / "no such folder"))


def test_load_returns_a_loaded_policy_unchanged():
    policy = load("tiny")
    assert load(policy) is policy


def test_dummy_policy_accepts_a_name_as_path():
    assert isinstance(dummy_policy(Path("tiny")).format, Compact)


def test_dummy_policy_needs_no_weights(tmp_path):
    TinyModel.new(TinyConfig(width=32, layers=1, heads=2, max_length=300)).save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    model, format = dummy_policy(str(tmp_path))
    assert model.max_length == 300 and isinstance(format, Compact)
    with pytest.raises(CheckpointError, match="model.safetensors"):
        load(str(tmp_path))


@pytest.mark.slow
@pytest.mark.hf
def test_dummy_policy_of_a_transformers_model_needs_no_weights(smollm2_tokenizer, tmp_path):
    """Prompt ids and context length are equal without the weights."""
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(vocab_size=len(smollm2_tokenizer), max_position_embeddings=321, **sizes)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    smollm2_tokenizer.save_pretrained(tmp_path)
    expected, chat = load(str(tmp_path)), [Message("user", "hello")]
    (tmp_path / "model.safetensors").unlink()
    model, format = dummy_policy(str(tmp_path))
    assert format.start(chat, ()) == expected.format.start(chat, ())
    assert format.stop_ids == expected.format.stop_ids
    assert model.max_length == expected.model.max_length == 321
    with pytest.raises(InputError):
        load(str(tmp_path))


@pytest.mark.slow
@pytest.mark.hf
def test_smollm2_has_a_chat_template_and_saves_without_loss(tmp_path):
    """The dequantized weights of the GGUF file load again from a saved folder."""
    pytest.importorskip("transformers")
    model, format = load("smollm2")
    assert isinstance(format, ChatTemplate) and model.vocab_size == 49152
    assert dummy_policy("smollm2").model.max_length == model.max_length
    model.save(tmp_path)
    loaded = load(str(tmp_path)).model
    parameters = dict(loaded.module.named_parameters())
    assert all(torch.equal(parameter, parameters[name]) for name, parameter in model.module.named_parameters())
    assert loaded.tokenizer.chat_template == model.tokenizer.chat_template


def test_policy_with_vision_gets_the_image_processor_of_its_model(tmp_path):
    model = vision_model(torch.float32)
    model.save(tmp_path)
    formats = [load(model).format, load(tmp_path).format, load_format(tmp_path), dummy_policy(tmp_path).format]
    assert [one.image_processor for one in formats] == [TinyImageProcessor(8)] * 4
    assert load("tiny").format.image_processor is None


def test_run_with_other_image_settings_than_its_model_is_a_checkpoint_error(tmp_path):
    checkpoint = tmp_path / "checkpoints" / "step-000001"
    LocalEngine(vision_model(torch.float32)).save(checkpoint / "engine")
    (checkpoint / "state.json").write_text("{}")
    (checkpoint / "arrays.safetensors").write_text("")
    (checkpoint / "manifest.json").write_text(json.dumps(file_manifest(checkpoint)))
    save_format(tmp_path, Compact(TinyImageProcessor(16)))
    with pytest.raises(CheckpointError, match="image_processor.patch 16 and not 8"):
        load(tmp_path)
