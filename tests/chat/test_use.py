"""Chat with a policy: answers, tool calls, conversations, stateful tools and errors."""

import json
import shutil

import pytest

import handaxe as hx
from handaxe.chat.run_facts import run_facts
from handaxe.chat.use import use
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import Message, ToolCall, check
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.models.tiny import TinyModel
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools import tool
from handaxe.tools.calculator import calculator


def scripted(script, tools, **options):
    schemas = [one.schema for one in tools if hasattr(one, "schema")] or [Notes.write.schema]
    engine = ScriptedEngine(Compact(), script, tools=schemas)
    return use(engine, tools, format=Compact(), **options)


class Notes:
    """Stateful tool with notes; counts calls of close."""

    closed = 0

    def __init__(self):
        self.notes = []

    @tool
    def write(self, text: str) -> str:
        """Write a note.

        Args:
            text: of the note.
        """
        self.notes.append(text)
        return " ".join(self.notes)

    def close(self):
        Notes.closed += 1


def test_shipped_policy_answers_with_its_calls():
    chat = hx.use("tiny", [calculator])
    response = chat("12*34=?")
    assert str(response) == response.answer == "408" and response.ending.kind == "completed"
    (call,) = response.calls
    assert (call.name, call.arguments, call.reply, call.status) == ("calculator", {"expression": "12*34"}, "408", "ok")
    assert [m.role for m in response.messages] == ["user", "assistant", "tool", "assistant"]
    check(response.trajectory)
    assert chat("12*34=?").trajectory.sequences[0].ids.tolist() == response.trajectory.sequences[0].ids.tolist()
    assert "trajectory" not in repr(response)


def test_more_continues_the_conversation_and_returns_only_new_calls():
    script = [ToolCall("calculator", {"expression": "6*7"}), "42", ToolCall("calculator", {"expression": "42+1"}), "43"]
    chat = scripted(script, [calculator])
    first, second = chat("6*7?"), chat.more("one more?")
    assert (first.answer, second.answer) == ("42", "43")
    assert [call.reply for call in second.calls] == ["43"] and len(second.messages) == 8
    ids = first.trajectory.sequences[0].ids
    assert second.trajectory.sequences[0].ids[: len(ids)].tolist() == ids.tolist()
    again = chat("6*7?")
    assert again.answer == "42" and len(again.messages) == 4, "a call starts a new conversation"
    chat.new()
    assert len(chat.more("6*7?").messages) == 4


def test_list_of_messages_starts_a_conversation():
    chat = scripted(["yes"], [calculator])
    messages = [{"role": "user", "content": "one"}, Message("assistant", "two"), {"role": "user", "content": "three"}]
    response = chat(messages)
    text = Compact().decode(response.trajectory.sequences[0].ids)
    assert "<USER>one<END><ASSISTANT>two<END><USER>three<END><ASSISTANT>yes<END>" in text


def test_tools_keep_state_only_during_a_conversation():
    Notes.closed = 0
    script = [ToolCall("write", {"text": "a"}), "ok", ToolCall("write", {"text": "b"}), "ok"]
    with scripted(script, [Notes]) as chat:
        made = Notes.closed  # tool_chat made one instance to read its schema
        assert chat("first").calls[0].reply == "a" and chat.more("second").calls[0].reply == "a b"
        assert Notes.closed == made
        assert chat("again").calls[0].reply == "a" and Notes.closed == made + 1
    assert Notes.closed == made + 2


@tool
def breaks(text: str) -> str:
    """Break.

    Args:
        text: anything.
    """
    raise InfrastructureError("the disk is gone")


def test_failed_question_is_removed_from_the_conversation():
    """The script calls a tool that crashes, and then answers."""
    script = iter(["hello", ToolCall("breaks", {"text": "x"}), "still here"])
    chat = scripted(lambda text, turn: next(script), [breaks])
    chat("hi")
    failed = chat.more("break it")
    assert failed.ending.kind == "infra_error" and "the disk is gone" in failed.ending.reason
    assert failed.calls[0].status == "infra_error" and failed.answer == ""
    assert [m.content for m in chat.more("are you there?").messages] == ["hi", "hello", "are you there?", "still here"]


def test_question_beyond_the_context_keeps_the_conversation():
    chat = use("tiny", [calculator])
    chat("1+1=?")
    full = chat.more("x" * 2000)
    assert full.ending.reason == "length" and full.answer == "" and not full.calls
    assert len(chat.messages) == 4


def test_limits_truncate_and_wrong_limits_raise():
    call = ToolCall("calculator", {"expression": "1+1"})
    response = scripted(lambda text, turn: call, [calculator], max_turns=3)("go")
    assert response.ending.reason == "turns" and len(response.calls) == 3
    response = scripted(["a long answer"], [calculator], max_tokens=3)("go")
    assert response.ending.reason == "length" and response.answer == "a l"
    for wrong in ({"max_turns": 0}, {"max_tokens": 0}, {"temperature": -1.0}, {"temperature": float("nan")}):
        with pytest.raises(InputError, match="give"):
            use("tiny", [calculator], **wrong)


def test_seed_decides_samples():
    def ids(**options):
        return use("tiny", [calculator], temperature=2.0, **options)("12*34=?").trajectory.sequences[0].ids.tolist()

    assert ids(seed=1) == ids(seed=1) != ids(seed=2)


def test_watch_is_called_before_and_after_calls():
    seen = []

    def watch(turn, reply):
        seen.append((turn.calls[0].name, reply and reply.replies[0].content))

    chat = scripted([ToolCall("calculator", {"expression": "6*7"}), "42"], [calculator], watch=watch)
    chat("6*7?")
    assert seen == [("calculator", None), ("calculator", "42")]


@pytest.mark.parametrize("model", ["policy", "pair", "model", "engine"])
def test_use_takes_loaded_policies_models_and_engines(model):
    policy = load("tiny")
    given = {"policy": policy, "pair": tuple(policy), "model": policy.model, "engine": hx.LocalEngine(policy.model)}
    options = {"format": policy.format} if model == "engine" else {}
    assert str(use(given[model], [calculator], **options)("12*34=?")) == "408"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: use("tiny"), "the tools are unknown"),
        (lambda: use(hx.LocalEngine(load("tiny").model), [calculator]), "does not know its chat format"),
        (lambda: use(object(), [calculator]), "object is not a loaded model"),
        (lambda: use("tiny", [calculator])([]), "there is no message"),
        (lambda: use("tiny", [calculator])([Message("assistant", "hm")]), "must be of the user"),
        (lambda: use("tiny", [calculator])([{"role": "user"}]), "message 0 is not valid"),
        (lambda: use("tiny", [calculator])([{"role": "tool", "content": ""}]), "has the role 'tool'"),
    ],
)
def test_wrong_input_raises_in_one_line(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_run_of_a_method_has_tools_and_token_limit(finished):
    facts = run_facts(finished)
    assert (facts.method, facts.max_tokens, facts.folder) == ("otc", 8, finished)
    assert facts.tools == ("calculator",)
    response = use(finished)("12*34=?")
    assert [one.name for one in response.trajectory.tools] == ["calculator"]
    assert response.trajectory.turns[0].sampling.max_tokens == 8
    assert run_facts(finished / "checkpoints" / "step-000002").method == "otc"


def test_run_of_a_script_needs_tools(run):
    about = json.loads((run / "recipe.json").read_text())
    (run / "recipe.json").write_text(json.dumps({**about, "recipe": None}))
    with pytest.raises(InputError, match=r"a script made the run .* \(trained with calculator\): name them"):
        use(run)
    assert use(run, [calculator])("1+1=?").trajectory.turns


def test_policy_of_a_run_has_the_weights_of_its_last_checkpoint(run, tmp_path):
    saved = shutil.copytree(run / "checkpoints" / "step-000002" / "engine", tmp_path / "saved")
    (tmp_path / "saved" / "manifest.json").unlink(missing_ok=True)
    model = load(run).model
    assert isinstance(model, TinyModel) and model.hidden_size == 16
    samples = [use(where, [calculator], max_tokens=8)("7*8=?").trajectory.sequences[0] for where in (run, saved)]
    assert samples[0].ids.tolist() == samples[1].ids.tolist()
