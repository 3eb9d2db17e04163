"""LoRA on a quantized base: what is quantized, gradients, checkpoints, merging. torchao on the CPU."""

import copy

import pytest
import torch
from helpers.vision_families import EACH_FAMILY, A, B, conversation, own_model, read_row, relative

import handaxe as hx
from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models import quantize
from handaxe.models.huggingface import HuggingFaceModel, load_pretrained
from handaxe.testing.engine_case import example_batch, example_loss

transformers = pytest.importorskip("transformers")
torchao = pytest.importorskip("torchao")
pytestmark = [
    pytest.mark.hf,
    pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU, bitsandbytes quantizes"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from tokenizers import Tokenizer, models

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(40)}, unk_token="w0"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="w1", pad_token="w2")
    tokenizer.chat_template = "{{ messages }}"
    config = transformers.LlamaConfig(
        vocab_size=40, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    home = tmp_path_factory.mktemp("llama")
    HuggingFaceModel(transformers.LlamaForCausalLM(config), tokenizer).save(home)
    return home


def train(model, steps=2):
    engine = LocalEngine(model, reference=True)
    batch = example_batch(model)
    for _ in range(steps):
        engine.forward_backward(batch, example_loss)
        engine.optim_step(learning_rate=1e-2)
    return engine


def bytes_of(tensor):
    names, _ = tensor.__tensor_flatten__()
    return sum(getattr(tensor, name).nbytes for name in names)


@pytest.mark.parametrize("bits, most", [("8bit", 0.02), ("4bit", 0.2)])
def test_linear_layers_are_quantized_close_to_the_base(folder, bits, most):
    plain = load_pretrained(folder, lora={"r": 4})
    model = load_pretrained(folder, lora={"r": 4}, quantize=bits)
    layer = model.module.get_base_model().model.layers[0].self_attn.q_proj.base_layer
    assert bytes_of(layer.weight) < 0.35 * layer.weight.numel() * 4
    assert type(model.module.get_output_embeddings()) is torch.nn.Linear and model.input_table().dtype == torch.float32
    with torch.no_grad():
        ids = torch.arange(10)[None]
        wanted, found = (one.head(one.hidden(ids, ids >= 0)) for one in (plain, model))
    gap = (found - wanted).norm() / wanted.norm()
    assert 0 < gap < most


@pytest.mark.parametrize("bits", ["8bit", "4bit"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_only_the_adapter_trains_and_every_part_of_it(folder, bits, dtype):
    model = load_pretrained(folder, lora={"r": 4}, quantize=bits, dtype=dtype)
    before = copy.deepcopy({name: p.detach() for name, p in model.module.named_parameters() if p.requires_grad})
    engine = train(model)
    assert before and all("lora" in name for name in before)
    for name, p in model.module.named_parameters():
        if p.requires_grad:
            assert p.dtype == torch.float32 and not torch.equal(p, before[name]), name
    batch = example_batch(model)
    reference = engine.forward(batch, reference=True)["logp"]
    fresh = LocalEngine(load_pretrained(folder, lora={"r": 4}, quantize=bits, dtype=dtype)).forward(batch)["logp"]
    assert torch.equal(reference, fresh) and not torch.equal(engine.forward(batch)["logp"], fresh)


@pytest.mark.parametrize("bits", ["8bit", "4bit"])
def test_saved_adapter_loads_on_the_quantized_base(folder, bits, tmp_path):
    engine = train(load_pretrained(folder, lora={"r": 4}, quantize=bits))
    engine.save(tmp_path / "saved")
    batch = example_batch(engine.model)
    wanted = engine.forward(batch)["logp"]
    loaded = load_pretrained(tmp_path / "saved" / "model")
    assert torch.equal(LocalEngine(loaded).forward(batch)["logp"], wanted)
    again = LocalEngine(load_pretrained(folder, lora={"r": 4}, quantize=bits), reference=True)
    again.load(tmp_path / "saved")
    assert torch.equal(again.forward(batch)["logp"], wanted)
    other = "4bit" if bits == "8bit" else "8bit"
    with pytest.raises(InputError, match=f"was trained with {bits} of the base: remove quantize='{other}'"):
        load_pretrained(tmp_path / "saved" / "model", quantize=other)
    with pytest.raises(InputError, match="was trained on a quantized base of float32: remove dtype='bfloat16'"):
        load_pretrained(tmp_path / "saved" / "model", dtype="bfloat16")


@pytest.mark.parametrize("bits", ["8bit", "4bit"])
def test_merged_model_is_plain_and_equals_the_policy(folder, bits, tmp_path):
    model = train(load_pretrained(folder, lora={"r": 4}, quantize=bits)).model
    model.save_merged(tmp_path / "merged")
    merged = load_pretrained(tmp_path / "merged")
    assert all(type(p) is torch.nn.Parameter for p in merged.module.parameters())
    batch = example_batch(model)
    found, wanted = (LocalEngine(one).forward(batch)["logp"] for one in (merged, model))
    assert torch.allclose(found, wanted, atol=1e-4)
    assert quantize.is_quantized(model.module) and not quantize.is_quantized(merged.module)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"quantize": "8bit"}, "quantize='8bit' needs an adapter, since quantized weights do not train: give lora="),
        ({"quantize": "3bit", "lora": 4}, "quantize is '3bit'; give 4bit or 8bit"),
    ],
)
def test_impossible_quantization_is_named(folder, options, message):
    with pytest.raises(InputError, match=message):
        hx.load(folder, **options)


@pytest.mark.parametrize("options", [{"quantize": "8bit"}, {"dtype": "bfloat16"}])
def test_tiny_model_refuses_other_precisions(options):
    with pytest.raises(InputError, match="tiny is a tiny model of float32 weights: remove"):
        hx.load("tiny", **options)


def test_missing_package_is_named(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torchao.quantization", None)
    with pytest.raises(InputError, match=r"need the extra \[quantize\] on the CPU"):
        load_pretrained(folder, lora={"r": 4}, quantize="8bit")


@pytest.mark.slow
@pytest.mark.parametrize("family", EACH_FAMILY)
def test_of_a_vision_model_the_language_model_is_quantized(family, tmp_path):
    own_model(family).save(tmp_path / "base")
    plain = load_pretrained(tmp_path / "base", lora={"r": 2})
    model = load_pretrained(tmp_path / "base", lora={"r": 2}, quantize="8bit", lora_vision=True)
    language = {id(p) for p in model.vision.language.parameters()}
    shrunk = {id(p) for p in model.module.parameters() if type(p) is not torch.nn.Parameter}
    assert shrunk and shrunk <= language and model.trains_vision
    _, ids = conversation(family, A, B)
    with torch.no_grad():
        assert 0 < relative(read_row(model, ids), read_row(plain, ids)) < 0.1
        for parameter in (p for p in model.module.parameters() if p.requires_grad):
            parameter += 0.05
        wanted = read_row(model, ids)
        model.save(tmp_path / "saved")
        model.save_merged(tmp_path / "merged")
        assert torch.equal(read_row(load_pretrained(tmp_path / "saved"), ids), wanted)
        assert relative(read_row(load_pretrained(tmp_path / "merged"), ids), wanted) < 1e-3
    read_row(model, ids).sum().backward()
    assert all(p.grad is not None for p in model.module.parameters() if p.requires_grad)
