from pathlib import Path

import pytest
import torch

import handaxe.models.load
from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.records import Message
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.compact import Compact
from handaxe.models.load import load, stand_in
from handaxe.models.tiny import TinyConfig, TinyModel

SHIPPED = Path(handaxe.models.load.__file__).with_name("tiny_checkpoint")


def test_tiny_is_the_checkpoint_that_ships_and_is_under_four_megabytes():
    model, format = load("tiny")
    assert isinstance(model, TinyModel) and isinstance(format, Compact)
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) < 4e6


def test_a_folder_with_a_tiny_model(tmp_path):
    TinyModel.new(TinyConfig(width=32, layers=1, heads=2)).save(tmp_path)
    assert load(str(tmp_path)).model.hidden_size == 32


def test_nothing_of_that_name_gets_one_clear_error(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(InputError):
        load(str(tmp_path / "no such folder"))


def test_a_loaded_policy_is_given_back():
    policy = load("tiny")
    assert load(policy) is policy


def test_a_name_may_stand_in_a_path():
    assert isinstance(stand_in(Path("tiny")).format, Compact)


def test_a_stand_in_needs_no_weights(tmp_path):
    TinyModel.new(TinyConfig(width=32, layers=1, heads=2, max_length=300)).save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    model, format = stand_in(str(tmp_path))
    assert model.max_length == 300 and isinstance(format, Compact)
    with pytest.raises(CheckpointError, match="model.safetensors"):
        load(str(tmp_path))


@pytest.mark.hf
def test_a_stand_in_for_a_model_of_transformers_needs_no_weights(smollm2_tokenizer, tmp_path):
    """The same prompt and context, with the weights gone."""
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(vocab_size=len(smollm2_tokenizer), max_position_embeddings=321, **sizes)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    smollm2_tokenizer.save_pretrained(tmp_path)
    want, chat = load(str(tmp_path)), [Message("user", "hello")]
    (tmp_path / "model.safetensors").unlink()
    model, format = stand_in(str(tmp_path))
    assert format.start(chat, ()) == want.format.start(chat, ()) and format.stop_ids == want.format.stop_ids
    assert model.max_length == want.model.max_length == 321
    with pytest.raises(InputError):
        load(str(tmp_path))


@pytest.mark.hf
def test_smollm2_comes_with_its_chat_template_and_can_be_saved(tmp_path):
    """A checkpoint of the real model: what was read from a GGUF file is plain weights, saved and read back."""
    pytest.importorskip("transformers")
    model, format = load("smollm2")
    assert isinstance(format, ChatTemplate) and model.vocab_size == 49152
    assert stand_in("smollm2").model.max_length == model.max_length
    model.save(tmp_path)
    again = load(str(tmp_path)).model
    kept = dict(again.module.named_parameters())
    assert all(torch.equal(parameter, kept[name]) for name, parameter in model.module.named_parameters())
    assert again.tokenizer.chat_template == model.tokenizer.chat_template
