"""Tests that transformers loads an export with the policy's ids, logits and greedy tokens."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.piece_policy import piece_policy

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.exporting.chat_messages import rendered_ids
from handaxe.models.exporting.export_policy import export_policy
from handaxe.models.huggingface import HuggingFaceModel, load_pretrained
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
PAGE = Path(__file__).parents[3] / "docs" / "export.md"
TOOLS = [calculator.schema]
CALL = ToolCall("calculator", {"expression": "12*34"}, "t0c0")
QUESTION = [Message("user", "12*34=?")]
CHATS = [
    QUESTION,
    [*QUESTION, Message("assistant", "", (CALL,)), Message("tool", "408", call_id="t0c0", name="calculator")],
    [Message("user", "What is 7+5?")],
]


@pytest.fixture(scope="module", params=["tiny", "pieces", "llama"])
def policy(request):
    """(model in float64, format): the packaged policy of bytes, a random policy of pieces with grouped queries, and a
    random Llama with a real tokenizer."""
    if request.param != "llama":
        model, format = load("tiny") if request.param == "tiny" else piece_policy()
        model.module.double()
        return model, format
    tokenizer = request.getfixturevalue("smollm2_tokenizer")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=512, num_key_value_heads=1,
        hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, initializer_range=0.5,
    )  # fmt: skip
    return HuggingFaceModel(transformers.LlamaForCausalLM(config).double(), tokenizer), ChatTemplate(tokenizer)


@pytest.fixture(scope="module")
def folder(policy, tmp_path_factory):
    out = tmp_path_factory.mktemp("exported") / "policy"
    about = {"recipe": "otc", "command": "handaxe `x`\ny"}
    result = export_policy(*policy, out, tools=TOOLS, system="Be brief.", about=about)
    assert result.folder == out and result.compared >= 12 and result.leaky == ()
    return out


@pytest.fixture(scope="module")
def exported(folder):
    """(model, tokenizer), loaded by transformers."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    return model, transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)


def test_exported_model_has_equal_logits(policy, exported):
    for chat in CHATS:
        ids_1T = torch.tensor([policy[1].start(chat, TOOLS).ids])
        with torch.no_grad():
            wanted = policy[0].head(policy[0].hidden(ids_1T, torch.ones_like(ids_1T).bool()))
            logits_1TV = exported[0](ids_1T).logits
        assert logits_1TV.dtype == torch.float64 and torch.allclose(logits_1TV, wanted, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_generate_gives_equal_greedy_tokens_for_rows_and_padded_batches(policy, exported):
    (model, format), generator = policy, exported[0]
    rows = [format.start(chat, TOOLS).ids for chat in CHATS]
    greedy = Sampling(temperature=0.0, max_tokens=24)
    requests = [Sample(row, greedy, 0, format.stop_ids, format.header_ids) for row in rows]
    wanted = [completion.ids for completion in LocalEngine(model).sample(requests)]
    for cached in (True, False):
        for row, ids in zip(rows, wanted):
            out_1T = generator.generate(torch.tensor([row]), max_new_tokens=24, do_sample=False, use_cache=cached)
            assert out_1T[0, len(row) :].tolist() == ids
    width = max(map(len, rows))
    pad = generator.generation_config.pad_token_id
    padded = {
        "input_ids": torch.tensor([[pad] * (width - len(row)) + row for row in rows]),
        "attention_mask": torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows]),
    }
    out_BT = generator.generate(**padded, max_new_tokens=24, do_sample=False)
    assert [out_T[width : width + len(ids)].tolist() for out_T, ids in zip(out_BT, wanted)] == wanted
    assert set(generator.generation_config.eos_token_id) == format.stop_ids | format.header_ids


def test_exported_template_renders_the_ids_of_played_rollouts(policy, exported):
    """The prompt of each turn of each rollout has the ids of the exported template."""
    model, format = policy
    if type(format) is not Compact:
        pytest.skip("random weights sample no text that round-trips")
    engine, sampling = LocalEngine(model), Sampling(1.0, max_tokens=64)
    questions = ["12*34=?", "What is 99-3*(2+1)?", "7+5=?", "2**10=?"]
    attempts = [
        Attempt(Task(q, (Message("user", q),)), tool_chat([calculator]), format, sampling, q, 0, k, engine.max_length)
        for k, q in enumerate(questions)
    ]
    turns = 0
    for (played,) in driver.run(attempts, linear(max_turns=4), engine):
        (sequence,) = played.sequences
        replies = [k for k, message in enumerate(played.messages) if message.role == "assistant"]
        for k, turn in zip(replies, played.turns):
            ids = rendered_ids(exported[1], played.messages[:k], played.tools)
            assert ids == sequence.ids[: turn.start].tolist()
            turns += 1
    assert turns > len(questions)


def test_response_template_parses_encoded_turns(policy, exported):
    format, tokenizer = policy[1], exported[1]
    prefix = tokenizer.apply_chat_template(
        [{"role": "user", "content": "go"}], add_generation_prompt=True, tokenize=False
    )
    tools = [{"type": "function", "function": {"name": "calculator", "parameters": TOOLS[0].parameters}}]
    for text, calls in [("Let me see: 1 < 2.", ()), ("", (CALL,)), ("Well.", (CALL, replace(CALL, id="c1")))]:
        turn = tokenizer.decode(format.encode_turn(Message("assistant", text, calls), TOOLS))
        response = tokenizer.parse_response(turn, prefix=prefix, tools=tools)
        assert response.get("content", "") == text
        functions = [call["function"] for call in response.get("tool_calls", [])]
        arguments = [a if isinstance(a := function["arguments"], dict) else json.loads(a) for function in functions]
        assert [function["name"] for function in functions] == ["calculator"] * len(calls)
        assert arguments == [dict(call.arguments) for call in calls]


def test_handaxe_loads_an_export(policy, folder):
    model, format = load(folder)
    for chat in CHATS:
        ids = policy[1].start(chat, TOOLS).ids
        assert format.start(chat, TOOLS).ids == ids
        ids_1T = torch.tensor([ids])
        with torch.no_grad():
            wanted = policy[0].head(policy[0].hidden(ids_1T, torch.ones_like(ids_1T).bool()))
            logits_1TV = model.head(model.hidden(ids_1T, torch.ones_like(ids_1T).bool()))
        assert torch.allclose(logits_1TV.double(), wanted, atol=1e-3)


def test_model_card_lists_facts_and_its_code_block_runs(policy, folder, monkeypatch, capsys):
    page = (folder / "README.md").read_text()
    assert "- recipe: `otc`" in page and "- command: `handaxe 'x' y`" in page and '"Be brief."' in page
    assert json.loads((folder / "tools.json").read_text())[0]["function"]["name"] == "calculator"
    assert ("trust_remote_code" in page) == isinstance(policy[0], TinyModel)
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(folder)
    exec(program, {})
    assert type(policy[1]) is not Compact or "<END>" in capsys.readouterr().out


def test_code_block_of_the_documentation_runs(tmp_path, monkeypatch, capsys):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(program, {})
    assert capsys.readouterr().out.endswith(" ()\n") and (tmp_path / "exported" / "tools.json").exists()


@pytest.mark.slow
def test_adapter_exports_merged_and_separate(policy, tmp_path):
    if isinstance(policy[0], TinyModel):
        with pytest.raises(InputError, match="has no adapter"):
            export_policy(*policy, tmp_path / "no", adapter=True)
        return
    pytest.importorskip("peft")
    policy[0].save(tmp_path / "base")
    model = load_pretrained(tmp_path / "base", lora={"r": 2}, dtype="float64")
    with torch.no_grad():
        for name, weight in model.module.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.3, generator=torch.Generator().manual_seed(1))
    format = ChatTemplate(model.tokenizer)
    export_policy(model, format, tmp_path / "merged", tools=TOOLS)
    export_policy(model, format, tmp_path / "adapter", tools=TOOLS, adapter=True)
    ids_1T = torch.tensor([format.start(QUESTION, TOOLS).ids])
    merged = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base", dtype="float64")
    from peft import PeftModel

    with torch.no_grad():
        wanted = model.head(model.hidden(ids_1T, torch.ones_like(ids_1T).bool()))
        assert not torch.allclose(base(ids_1T).logits, wanted, atol=1e-3)
        adapted = PeftModel.from_pretrained(base, tmp_path / "adapter")
        for logits_1TV in (merged(ids_1T).logits, adapted(ids_1T).logits):
            assert torch.allclose(logits_1TV, wanted, rtol=0, atol=1e-6)
    assert not (tmp_path / "adapter" / "model.safetensors").exists()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "adapter")
    assert tokenizer.apply_chat_template([{"role": "user", "content": "12*34=?"}], return_dict=False)


def test_export_errors_leave_no_files(tmp_path):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    with pytest.raises(InputError, match="exists and is not empty"):
        export_policy(model, Compact(), tmp_path / "full")
    with pytest.raises(InputError, match="Transcript has no chat template"):
        export_policy(model, Transcript(), tmp_path / "out")
    with pytest.raises(InputError, match="a str cannot be exported"):
        export_policy("tiny", Compact(), tmp_path / "out")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot write an export|exists and is not empty"):
        export_policy(model, Compact(), tmp_path / "file" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full"]


@pytest.mark.slow
def test_export_of_a_custom_call_syntax_is_an_input_error(smollm2_tokenizer, tmp_path):
    class CustomCalls:
        example = "CALL name"

        def write(self, content, calls):
            return []

        def read(self, text, *, thinking=False):
            raise NotImplementedError

    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, vocab_size=len(smollm2_tokenizer)))
    from handaxe.models.chat_formats.hermes import Hermes

    with pytest.raises(InputError, match="CustomCalls is a custom call syntax"):
        export_policy(model, Hermes(smollm2_tokenizer, calls=CustomCalls()), tmp_path / "out")


def test_export_of_a_policy_with_vision_is_an_input_error(tmp_path):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, patch=8))
    with pytest.raises(InputError, match="with vision cannot be exported"):
        export_policy(model, Compact(model.image_processor), tmp_path / "out")
    assert not (tmp_path / "out").exists()
