import os
import shutil
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # also of the programs that tests start: several torches on two cores stand still

import pytest
import torch

torch.set_num_threads(1)

if os.environ.get("HANDAXE_ROUNDING") == "shapes":
    sys.path.insert(0, str(Path(__file__).parent))
    from rounding import round_by_shape

    sys.path.pop(0)
    KERNELS = round_by_shape()

SMALL = ("--steps", "2", "--groups", "2", "--group-size", "2", "--held-out", "4", "--max-tokens", "8")


@pytest.fixture(scope="session")
def small_model(tmp_path_factory) -> Path:
    from handaxe.models.tiny import TinyConfig, TinyModel  # not before the rounding above

    folder = tmp_path_factory.mktemp("model")
    TinyModel.new(TinyConfig(width=16, layers=1, heads=2), seed=0).save(folder)
    return folder


@pytest.fixture(scope="session")
def finished(small_model, tmp_path_factory) -> Path:
    """A run of two steps with its result.json; do not change it."""
    from handaxe.cli import main

    folder = tmp_path_factory.mktemp("runs") / "first"
    words = ["train", "otc", "--smooth", "2", "--model", str(small_model), *SMALL, "--out", str(folder), "--quiet"]
    assert main([*words, "--json", str(folder.parent / "result.json")]) == 0
    return folder


@pytest.fixture
def run(finished, tmp_path) -> Path:
    """A copy of that run, to do with as one likes."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture(scope="session")
def small_llamas(tmp_path_factory) -> Path:
    """Two small Llamas, "0" and "1", alike but for their weights, with a byte-level tokenizer; its template has an
    option, `mood`, and knows no tools."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({name: k for k, name in enumerate(alphabet)}, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<end>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<turn>"]})
    tokenizer.chat_template = (
        "{% for m in messages %}<turn>{{ mood }}{{ m.role }} {{ m.content }}<end>{% endfor %}"
        "{% if add_generation_prompt %}<turn>{{ mood }}assistant {% endif %}"
    )
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=600, **sizes)
    folder = tmp_path_factory.mktemp("llamas")
    for seed in (0, 1):
        torch.manual_seed(seed)
        transformers.LlamaForCausalLM(config).save_pretrained(folder / str(seed))
        tokenizer.save_pretrained(folder / str(seed))
    return folder
