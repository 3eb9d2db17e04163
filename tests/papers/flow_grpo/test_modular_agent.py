import contextlib
import json

import pytest
from helpers import chat_server as chat

from handaxe.core.endings import unscored_reason
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Ending, Message, ParsedTurn, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt, AuxChat
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.papers.flow_grpo.from_memory import from_memory
from handaxe.papers.flow_grpo.modular_agent import Remembered, modular_agent
from handaxe.papers.flow_grpo.module_requests import MODULES
from handaxe.rollouts import driver
from handaxe.rollouts.driver.aux_engines import aux_chats
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.tools import check_env
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool

TASK = Task("t", (Message("user", "12*34+5?"),), "413")


def count(expression, id="c0", text=""):
    return ParsedTurn(text, (ToolCall("calculator", {"expression": expression}, id),))


def last(task, memory):
    return memory[-1].result if memory else ""


def made(**changes):
    modules = {"verify": lambda task, memory: memory[-1].result == task.answer, "generate": last} | changes
    env = modular_agent(tool_chat([calculator]), **modules)(TASK)
    env.start()
    return env


def test_modular_agent_keeps_the_environment_contract():
    check_env(modular_agent(tool_chat([calculator]), verify=lambda task, memory: False, generate=last), TASK)


def test_the_verifier_ends_the_rollout_and_the_generator_answers():
    env = made()
    first = env.step(count("12*34", text="multiply\nfirst"), seed=0)
    assert not first.done and first.facts == {"memory": "multiply first calculator 12*34: 408", "enough": False}
    assert [m.content for m in first.messages] == ["408"] and first.replies[0].content == "408"
    second = env.step(count("408+5"), seed=0)
    assert second.done and second.ending is None and second.facts["enough"]
    assert second.facts["memory"].splitlines()[1] == "calculator 408+5: 413"
    report = env.report()
    assert report["answer"] == "413" and report["replies"] == {"ok": 2}
    assert [Remembered(**one) for one in report["memory"]] == [
        Remembered("multiply first", "calculator", "12*34", "408", False),
        Remembered("", "calculator", "408+5", "413", True),
    ]


def test_the_generator_answers_without_a_positive_verdict():
    env = made()
    assert env.report()["answer"] == ""
    env.step(count("1+1"), seed=0)
    assert env.report()["answer"] == "2"


def test_a_turn_without_a_call_is_remembered_and_ends_nothing():
    env = made()
    reply = env.step(ParsedTurn("I am done"), seed=0)
    assert not reply.done and reply.facts["memory"] == "I am done: no tool was called"
    assert [m.content for m in reply.messages] == ["no tool was called"] and reply.replies == ()
    wrong = env.step(ParsedTurn("", errors=("the call is not closed",)), seed=0)
    assert not wrong.done and wrong.facts["memory"].splitlines()[1] == ": the call is not closed"


def test_the_executor_changes_the_command_and_the_record_keeps_the_plan():
    """The call that is carried out keeps the planner's id, so that the reply answers what was planned."""
    env = made(execute=lambda task, call: ToolCall("calculator", {"expression": call.arguments["expression"] + "*2"}))
    reply = env.step(count("3", id="c7"), seed=0)
    assert reply.replies[0].call_id == "c7" and reply.facts["memory"] == "calculator 3*2: 6"


def test_several_calls_make_several_entries_and_one_verdict():
    asked = []
    env = made(verify=lambda task, memory: asked.append(len(memory)))
    turn = ParsedTurn("", (*count("1+1").calls, *count("2+2", id="c1").calls))
    env.step(turn, seed=0)
    assert asked == [2] and [one["result"] for one in env.report()["memory"]] == ["2", "4"]


def test_long_results_are_truncated_in_the_memory():
    env = made(width=2)
    assert env.step(count("111*111"), seed=0).facts["memory"] == "calculator 111*111: 12"


def test_snapshots_include_the_memory():
    trunk, branch = made(), made()
    trunk.step(count("1+1"), seed=0)
    state = trunk.snapshot()
    trunk.step(count("2+2"), seed=0)
    branch.restore(state)
    assert [one["result"] for one in branch.report()["memory"]] == ["2"]
    branch.step(count("3+3"), seed=0)
    assert [one["result"] for one in trunk.report()["memory"]] == ["2", "4"]


def test_an_ending_of_the_wrapped_environment_ends_the_rollout():
    @tool
    def broken(text: str) -> str:
        """Fail."""
        raise InfrastructureError("it is down")

    env = modular_agent(tool_chat([broken]), verify=lambda task, memory: False, generate=last)(TASK)
    env.start()
    reply = env.step(ParsedTurn("", (ToolCall("broken", {"text": "a"}, "c0"),)), seed=0)
    assert reply.done and reply.ending.kind == "infra_error"


@pytest.mark.parametrize(
    "arguments, says", [({"expression": "1+1"}, "1+1"), ({"left": 1, "right": 2}, '{"left": 1, "right": 2}')]
)
def test_a_command_is_stored_as_text(arguments, says):
    env = made()
    reply = env.step(ParsedTurn("", (ToolCall("calculator", arguments, "c0"),)), seed=0)
    assert reply.facts["memory"].startswith(f"calculator {says}: ")


# --- modules that are models -----------------------------------------------------------------------------------------


def opened(replies, *, max_turns=9, **changes):
    """Environment with a model for each module of `replies`, and a function that plays a turn of the planner."""
    model = AuxChat(Compact(), Sampling(max_tokens=40), 4000)
    made_env = made(**changes)
    made_env.on_open(aux_policies=dict.fromkeys([*replies, "user"], model), max_turns=max_turns)
    left = {name: list(own) for name, own in replies.items()}
    seen = []

    def play(turn):
        reply = made_env.step(turn, seed=0)
        while reply.aux_request is not None:
            seen.append(reply.aux_request)
            said = left[reply.aux_request.by].pop(0)
            reply = made_env.on_aux_reply(said if isinstance(said, ParsedTurn) else ParsedTurn(said), seed=0)
        return reply

    return made_env, play, seen


def test_models_execute_verify_and_generate_in_this_order():
    env, play, seen = opened({"executor": ["12*34", "408+5"], "verifier": ["no", "yes"], "generator": [" 413 "]})
    first = play(count("1+1", text="multiply"))
    assert not first.done and first.facts == {"memory": "multiply calculator 12*34: 408", "enough": False}
    second = play(count("2+2"))
    assert second.done and second.ending is None and env.report()["answer"] == "413"
    assert [one.by for one in seen] == ["executor", "verifier", "executor", "verifier", "generator"]
    assert env.report()["asked"] == {"executor": 2, "verifier": 2, "generator": 1}
    assert json.dumps('multiply calculator {"expression": "1+1"}') in seen[0].messages[-1].content
    assert second.facts["memory"] in json.loads(f'"{seen[-1].messages[-1].content.split(chr(34))[1]}"')


def test_other_modules_stay_rules():
    env, play, seen = opened({"verifier": ["no", "yes"]})
    assert not play(count("408+5")).done and play(count("1+1")).done
    assert [one.by for one in seen] == ["verifier"] * 2 and env.report()["answer"] == "2"


def test_the_generator_answers_after_the_last_turn_and_once():
    env, play, seen = opened({"generator": ["I think 2"]}, max_turns=2)
    assert not play(ParsedTurn("nothing")).done and not seen and env.report()["answer"] == ""
    last = play(count("1+1"))
    assert not last.done and env.report()["answer"] == "I think 2"  # the rollout ends by its turn limit


def test_a_text_without_a_command_is_remembered_after_a_second_request():
    @tool
    def area(left: int, right: int) -> int:
        """Multiply."""
        return left * right

    made_env = modular_agent(tool_chat([area]), verify=lambda task, memory: False, generate=last)(TASK)
    made_env.on_open(aux_policies={"executor": AuxChat(Compact(), Sampling(max_tokens=40), 4000)}, max_turns=9)
    made_env.start()
    reply = made_env.step(ParsedTurn("", (ToolCall("area", {}, "c0"),)), seed=0)
    assert made_env.on_aux_reply(ParsedTurn("six times seven"), seed=0).aux_request == reply.aux_request
    end = made_env.on_aux_reply(ParsedTurn("6 and 7"), seed=0)
    assert not end.done and end.facts["memory"] == "area: the executor wrote no command" and end.replies == ()
    assert [(one.role, one.call_id) for one in end.messages] == [("tool", "c0")]


def test_an_unknown_tool_is_not_a_question_for_the_executor():
    _, play, seen = opened({"executor": []})
    reply = play(ParsedTurn("", (ToolCall("oracle", {}, "c0"),)))
    assert not seen and reply.replies[0].status == "invalid"


@pytest.mark.parametrize("module", MODULES)
def test_an_empty_reply_is_requested_again_and_then_an_infrastructure_failure(module):
    good = {"executor": ["408+5"], "verifier": ["yes"], "generator": ["413"]}
    _, play, _ = opened(good | {module: ["", *good[module]]})
    assert play(count("1+1")).ending is None
    _, play, _ = opened(good | {module: ["", " "]})
    failed = play(count("1+1"))
    assert failed.done and failed.ending == Ending("infra_error", f"'{module}' gave no reply")


def test_snapshots_include_requests_and_turns():
    env, play, _ = opened({"verifier": ["no", "no", "no"], "generator": ["a", "b"]}, max_turns=2)
    play(count("1+1"))
    state = env.snapshot()
    play(count("2+2"))
    assert env.report()["asked"] == {"verifier": 2, "generator": 1}
    env.restore(state)
    assert env.report()["asked"] == {"verifier": 1}
    play(count("3+3"))
    assert env.report()["answer"] == "b"


def test_an_inner_environment_with_requests_is_rejected():
    class Asking:
        def on_aux_reply(self, turn, *, seed):
            raise AssertionError

    with pytest.raises(InputError, match="asks auxiliary policies itself"):
        modular_agent(lambda task: Asking(), verify=lambda task, memory: False, generate=last)(TASK)


# --- rollouts with chat servers --------------------------------------------------------------------------------------

ANSWERS = {"executor": chat.reply("408+5"), "verifier": chat.reply("yes"), "generator": chat.reply("413")}
FAILURES = {
    "HTTP 500": (500, {"error": "down"}),
    "HTTP 429": (429, {"error": "busy"}),
    "cut": "cut",
    "no JSON": (200, b"<html>"),
    "no choices": (200, {"choices": []}),
    "empty": chat.reply(""),
    "null": chat.reply(None),
    "blank": chat.reply(" \n"),
    "hang": "hang",
}


def served_rollout(answers, *, max_turns=3):
    """Planner of a script; a chat server for each module of `answers`."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(chat.ChatServer(answer)) for name, answer in answers.items()}
        options = {"model": "m", "format": Transcript(), "backoff": 0.001, "attempts": 2, "timeout": 0.3}
        engines = {
            name: stack.enter_context(contextlib.closing(OpenAICompatible(server.url, **options)))
            for name, server in servers.items()
        }
        sampling = Sampling(max_tokens=20)
        chats = aux_chats({name: AuxPolicy(one, Transcript(), sampling) for name, one in engines.items()})
        env = modular_agent(
            tool_chat([calculator]), verify=lambda task, memory: memory[-1].result == task.answer, generate=last
        )
        attempt = Attempt(TASK, env, Compact(), Sampling(max_tokens=48), "t/0", 0, 5, 400, aux_policies=chats)
        planner = ScriptedEngine(
            Compact(), [ToolCall("calculator", {"expression": "1+1"})] * 3, tools=[calculator.schema]
        )
        ((one,),) = driver.run([attempt], from_memory(max_turns=max_turns), planner, aux_engines=engines)
        return one, servers


def test_served_modules_play_a_rollout():
    one, servers = served_rollout(ANSWERS)
    assert one.ending == Ending("completed") and one.env["answer"] == "413" and len(one.turns) == 1
    assert [said.by for said in one.aux_turns] == ["executor", "verifier", "generator"]
    assert all(len(server.bodies) == 1 for server in servers.values())
    assert one.turns[0].parsed.calls[0].arguments == {"expression": "1+1"}  # the planner's own call
    assert one.replies[0].content == "413"
    for sequence in one.sequences:
        assert sequence.mask.sum() == sum(turn.stop - turn.start for turn in one.turns if turn.sequence == 0)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("module", MODULES)
def test_a_failure_of_a_served_module_is_never_a_score(module, failure):
    one, _ = served_rollout(ANSWERS | {module: FAILURES[failure]})
    assert one.ending.kind == "infra_error" and repr(module) in one.ending.reason
    assert unscored_reason(one.ending) == "infra_error"
    assert one.env.get("answer", "") == ""


def test_the_rule_never_replaces_a_failed_model():
    """The rule would answer 2, from the memory."""
    one, _ = served_rollout({"generator": FAILURES["HTTP 500"]}, max_turns=1)
    assert one.ending.kind == "infra_error" and one.env["answer"] == ""


def test_a_served_module_with_nonsense_changes_the_rollout_and_does_not_end_it():
    nonsense = chat.reply("as a language model", usage=(1, 1))
    one, _ = served_rollout({"executor": nonsense, "verifier": nonsense, "generator": nonsense}, max_turns=2)
    assert one.ending == Ending("truncated", "turns") and one.env["answer"] == "as a language model"
    assert [turn.facts["enough"] for turn in one.turns] == [False, False]
