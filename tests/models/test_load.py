from pathlib import Path

import pytest
import torch

import handaxe.models.load
from handaxe.errors import InputError
from handaxe.models.chat_template import ChatTemplate
from handaxe.models.compact import Compact
from handaxe.models.load import load
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


@pytest.mark.hf
def test_smollm2_comes_with_its_chat_template_and_can_be_saved(tmp_path):
    """A checkpoint of the real model: what was read from a GGUF file is plain weights, saved and read back."""
    pytest.importorskip("transformers")
    model, format = load("smollm2")
    assert isinstance(format, ChatTemplate) and model.vocab_size == 49152
    model.save(tmp_path)
    again = load(str(tmp_path)).model
    kept = dict(again.module.named_parameters())
    assert all(torch.equal(parameter, kept[name]) for name, parameter in model.module.named_parameters())
    assert again.tokenizer.chat_template == model.tokenizer.chat_template
