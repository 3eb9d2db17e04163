"""A choice of tools from a list before the first call."""

import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ToolCall
from handaxe.evaluation.benchmarks.scheduling import function_seconds
from handaxe.evaluation.benchmarks.tool_choice import tool_list
from handaxe.evaluation.benchmarks.tps_bench import tps_choice
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.toolbox.box import ChoiceBox
from handaxe.worlds.toolbox.catalogue import full_catalogue


@pytest.fixture(scope="module")
def world():
    return tps_choice(2, 2)


@pytest.fixture(scope="module")
def task(world):
    return world.tasks("test", 1, 0)[0]


def play(world, task, agent):
    env = world.env(world.tools)
    return demonstrate(env, task, agent, format=Compact(), id=task.id, seed=0, max_turns=world.start_turns)


def gauge(world, name, one):
    metric = world.gauges[name]
    return metric.top(one, 0.0) / metric.bottom(one, 0.0)


def choose(*names):
    return ToolCall("choose_tools", {"names": list(names)}, "c0")


def call(step):
    return ToolCall("call_tool", {"name": step["name"], "arguments": step["arguments"]}, "c0")


def box(task, limit=10):
    return ChoiceBox(full_catalogue(), task.metadata["steps"], offered=task.metadata["offered"], limit=limit)


def test_a_list_has_141_tools_of_which_the_needed_ones_alone_fit(world):
    for task in world.tasks("test", 3, 1):
        lines = task.messages[-1].content.rpartition("\nTools\n")[2].splitlines()
        assert (
            [line.partition(":")[0] for line in lines]
            == list(task.metadata["offered"])
            == sorted(task.metadata["offered"])
        )
        assert len(lines) == len(set(lines)) == 141
        needed = {step["function"] for step in task.metadata["steps"]}
        entries = full_catalogue().entries
        fitting = [name for name in task.metadata["offered"] if entries[name].function in needed]
        assert set(fitting) == {step["name"] for step in task.metadata["steps"]}
        for step in task.metadata["steps"]:
            best = {entry.name for entry in full_catalogue().find(step["query"], 5)} & set(task.metadata["offered"])
            assert best <= set(fitting)


def test_a_list_is_the_same_in_every_process_and_has_room_for_the_needed_tools(task):
    names = [entry.name for entry in tool_list(task, full_catalogue())]
    assert names == list(task.metadata["offered"])
    assert {entry.name for entry in tool_list(task, full_catalogue(), size=4)} == {
        step["name"] for step in task.metadata["steps"]
    }
    with pytest.raises(InputError, match="needs 4 tools, and its list has 3"):
        tool_list(task, full_catalogue(), size=3)


def test_a_task_that_needs_more_tools_than_can_be_chosen_is_refused():
    with pytest.raises(InputError, match="4 chains of 3 need 12 tools; at most 10 can be chosen"):
        tps_choice(4, 3)


def test_the_expert_chooses_first_and_is_correct(world, task):
    one = play(world, task, world.expert)
    assert [call.name for call in one.calls] == ["choose_tools", *["call_tool"] * 4]
    assert {name: gauge(world, name, one) for name in ("progress", "selected", "call_turns")} == {
        "progress": 1.0,
        "selected": 1.0,
        "call_turns": 5.0,
    }
    seconds = [function_seconds(step["function"]) for step in task.metadata["steps"]]
    assert gauge(world, "elapsed", one) == 1 + sum(seconds)
    assert world.need("reference")(task) == tuple(ToolCall(one.name, one.arguments) for one in one.calls)


def test_a_partial_choice_by_hand(world, task):
    """Chosen: one of the four needed tools and one other, so F1 2 / (2 + 4); one of four subtasks can be done."""
    step = task.metadata["steps"][0]
    other = next(name for name in task.metadata["offered"] if name not in {s["name"] for s in task.metadata["steps"]})
    script = iter([(choose(step["name"], other),), (call(step), call(task.metadata["steps"][2])), ()])

    def agent(task, facts):
        calls = next(script)
        return Message("assistant", "" if calls else "none", calls)

    one = play(world, task, agent)
    assert gauge(world, "selected", one) == pytest.approx(2 / 6, abs=1e-12)
    assert gauge(world, "progress", one) == 0.25
    assert [reply.status for turn in one.turns for reply in turn.replies] == ["ok", "ok", "retry"]


@pytest.mark.parametrize(
    "names, message",
    [
        (["no_such_tool"], "there is no tool 'no_such_tool'"),
        ([], "0 tools were named: choose 1 to 2"),
        (["a", "b", "c"], "3 tools were named: choose 1 to 2"),
    ],
)
def test_a_wrong_choice_is_reported_and_can_be_repeated(task, names, message):
    made = box(task, limit=2)
    reply = made.choose_tools.run(choose(*names))
    assert reply.status == "retry" and message in reply.content
    first = task.metadata["steps"][0]
    assert made.choose_tools.run(choose(first["name"], first["name"])).status == "ok"
    assert made.report()["chosen"] == [first["name"]]
    again = made.choose_tools.run(choose(first["name"]))
    assert again.status == "retry" and "1 tools are chosen already" in again.content


def test_a_call_before_the_choice_is_refused_and_a_snapshot_restores_the_choice(task):
    made, step = box(task), task.metadata["steps"][0]
    empty = made.snapshot()
    early = made.call_tool.run(call(step))
    assert early.status == "retry" and "choose_tools comes first" in early.content
    made.choose_tools.run(choose(step["name"]))
    assert made.call_tool.run(call(step)).content == str(step["value"])
    full = made.snapshot()
    made.restore(empty)
    assert made.report() == {"found": [False] * 4, "made": [False] * 4, "chosen": []}
    made.restore(full)
    assert made.report()["made"][0] and made.report()["found"][0] and made.report()["chosen"] == [step["name"]]
