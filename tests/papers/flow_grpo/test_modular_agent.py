import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.flow_grpo.modular_agent import Remembered, modular_agent
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
