import json

import numpy as np
import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.toolbox.world import toolbox


@pytest.fixture(scope="module")
def world():
    return toolbox(lengths=(2,))


def played(world, task, messages):
    told = iter(messages)
    return demonstrate(world.env(()), task, lambda *_: next(told), format=Compact(), max_turns=len(messages))


def call(name, arguments):
    return Message("assistant", "", (ToolCall(name, arguments),))


def find(step):
    return call("find_tools", {"query": step["query"]})


def made(step):
    return call("call_tool", {"name": step["name"], "arguments": step["arguments"]})


def score(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def test_brief_chains_keep_the_world_contract():
    check_world(toolbox(lengths=(1, 2, 5)), count=16)


@pytest.mark.parametrize("options", [{"lengths": (1, 2)}, {"kind": "question"}])
def test_prose_keeps_the_world_contract(options):
    check_world(toolbox(brief=False, **options), count=4)


def test_the_expert_needs_two_turns_a_call_and_one_for_the_answer(world):
    for lengths in ((1,), (5,)):
        one = toolbox(lengths=lengths)
        (task,) = one.tasks("test", 1, 0)
        played = demonstrate(one.env(()), task, one.expert, format=Compact(), max_turns=11)
        assert len(played.turns) == 2 * lengths[0] + 1 and score(one, played) == 1


def test_the_requested_results_alone_are_correct(world):
    (task,) = world.tasks("train", 1, 0)
    first, last = task.metadata["steps"]
    calls = [find(first), made(first), find(last), made(last)]
    for text, wanted in ((task.answer, 1), (f"It is {task.answer}.", 1), (f"{first['value']} {task.answer}", 0)):
        assert score(world, played(world, task, [*calls, Message("assistant", text)])) == wanted


def test_gauges_count_found_tools_invalid_calls_progress_and_turns(world):
    (task,) = world.tasks("train", 1, 0)
    first, _ = task.metadata["steps"]
    wrong = call("call_tool", {"name": first["name"], "arguments": {"z": 1}})
    no_object = call("call_tool", {"name": first["name"], "arguments": 3})
    one = played(world, task, [find(first), wrong, no_object, made(first)])
    said = {name: (gauge.top(one, 0.0), gauge.bottom(one, 0.0)) for name, gauge in world.gauges.items()}
    assert said == {"found": (1, 2), "invalid_calls": (2, 3), "progress": (1, 2), "turns": (4, 1)}


def test_criteria_are_found_tools_calls_and_the_answer(world):
    (task,) = world.tasks("train", 1, 0)
    first, last = task.metadata["steps"]
    one = played(world, task, [find(first), made(first), made(last), Message("assistant", task.answer)])
    criteria = world.criteria(task)
    assert [one.name for one in criteria] == ["find 0", "call 0", "find 1", "call 1", "answer"]
    wanted = [[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]
    np.testing.assert_array_equal(world.check(one, criteria), np.array(wanted, bool))


def test_facts_are_json_and_the_reference_has_the_calls(world):
    (task,) = world.tasks("train", 1, 0)
    env = world.env(())(task)
    _, schemas = env.start()
    assert [one.name for one in schemas] == ["find_tools", "call_tool"]
    env.close()
    one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=5)
    assert [json.loads(json.dumps(turn.facts)) for turn in one.turns] == [turn.facts for turn in one.turns]
    assert [(each.name, each.arguments) for each in world.reference(task)] == [
        (each.name, each.arguments) for each in one.calls if each.name == "call_tool"
    ]


@pytest.mark.parametrize("lengths, context", [((1, 2, 3, 4), 512), ((5,), 1024)])
def test_demonstrations_fit_the_context_of_the_start(lengths, context):
    world = toolbox(lengths=lengths)
    assert world.start_context == context
    env = world.env(())
    tasks = world.tasks("train", 20, 0)
    long = [demonstrate(env, task, world.expert, format=Compact(), max_turns=11) for task in tasks]
    assert max(len(one.sequences[0].ids) for one in long) <= context


def test_invalid_arguments_raise(world):
    for options, message in (
        ({"kind": "story"}, "kinds chain and question"),
        ({"kind": "question"}, "brief off"),
        ({"lengths": ()}, "each 1 to 5"),
        ({"lengths": (1, 6)}, "each 1 to 5"),
        ({"results": 0}, "give 1 to 20"),
        ({"results": 21}, "give 1 to 20"),
    ):
        with pytest.raises(InputError, match=message):
            toolbox(**options)
    with pytest.raises(TaskError, match="empty"):
        world.tasks("train", 0, 0)
    with pytest.raises(InputError, match="split"):
        world.tasks("dev", 1, 0)
    with pytest.raises(ToolDefinitionError, match="is no tool"):
        world.env((3,))
