import contextlib
import json

import pytest

pytest.importorskip("bm25s")
pytest.importorskip("bfcl_eval")

from helpers import chat_server as chat

from handaxe.core.endings import unscored_reason
from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Ending, Group, Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.papers.deepagent.found_tools import box_facts, found_tools
from handaxe.rollouts import driver
from handaxe.rollouts.driver.aux_engines import aux_chats
from handaxe.rollouts.folding import SPEAKER
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.tools import check_env
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = found_tools(lengths=(2,))
TASK = WORLD.tasks("train", 1, 0)[0]
FIRST, SECOND = TASK.metadata["steps"]


def find(step):
    return ToolCall("find_tools", {"query": step["query"]})


def call(step, **changes):
    return ToolCall("call_tool", {"name": step["name"], "arguments": {**step["arguments"], **changes}})


def test_found_tools_keeps_the_contracts():
    check_world(found_tools(), count=20)
    check_env(WORLD.env(()), TASK)


def test_a_fold_leaves_question_and_three_memories():
    one = demonstrate(WORLD.env(()), TASK, WORLD.expert, format=Compact(), rollout=WORLD.make_rollout(8))
    assert [c.name for c in one.calls] == ["find_tools", "call_tool", "fold_memory", "find_tools", "call_tool"]
    assert one.final_text == TASK.answer and len(one.sequences) == 2
    (memory,) = [m.content for m in one.messages if m.name == SPEAKER]
    rest = TASK.messages[0].content.split(", ")[1].replace("*", str(FIRST["value"]))
    used = f"{FIRST['name']} {' '.join(map(str, FIRST['arguments'].values()))} {FIRST['value']}"
    assert memory.splitlines()[:2] == [f"Your memory: episodic {used}", f"working {rest}"]
    assert memory.splitlines()[2].startswith(f"tool {FIRST['name']} ")
    again = Compact().decode(one.sequences[1].ids)
    assert TASK.messages[0].content in again and memory in again and f"find_tools {FIRST['query']}" not in again
    assert WORLD.correct(Group(TASK, (one,))).outcome[0] == 1
    assert {name: WORLD.gauges[name].top(one, 1.0) for name in ("folds", "entered", "call_precision")} == {
        "folds": 1,
        "entered": 2,
        "call_precision": 2,
    }


def test_chains_within_the_limit_are_not_folded():
    world = found_tools(lengths=(1, 2), fold_after=2)
    for task in world.tasks("test", 10, 0):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), rollout=world.make_rollout(8))
        assert box_facts(one)["folds"] == 0 == len(one.sequences) - 1 and one.final_text == task.answer


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="fold_after is 0"):
        found_tools(fold_after=0)


# --- roles with chat servers -----------------------------------------------------------------------------------------

SCRIPT = [find(FIRST), call(FIRST), ToolCall("fold_memory", {}), find(SECOND)]


def played(answers, script, *, max_turns=8):
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(chat.ChatServer(answer)) for name, answer in answers.items()}
        options = {"model": "m", "format": Transcript(), "backoff": 0.001, "attempts": 2, "timeout": 0.3}
        engines = {
            name: stack.enter_context(contextlib.closing(OpenAICompatible(server.url, **options)))
            for name, server in servers.items()
        }
        sampling = Sampling(max_tokens=20)
        chats = aux_chats({name: AuxPolicy(one, Transcript(), sampling) for name, one in engines.items()})
        _, schemas = WORLD.env(())(TASK).start()
        engine = ScriptedEngine(Compact(), script, tools=schemas)
        attempt = Attempt(TASK, WORLD.env(()), Compact(), Sampling(max_tokens=80), "t/0", 0, 5, 512, aux_policies=chats)
        ((one,),) = driver.run([attempt], WORLD.make_rollout(max_turns), engine, aux_engines=engines)
        return one, servers


def test_a_served_model_simulates_tools_and_another_writes_memories():
    chained = next(name for name, value in SECOND["arguments"].items() if value == FIRST["value"])
    script = [*SCRIPT, call(SECOND, **{chained: 413}), "413"]
    one, servers = played({"simulator": chat.reply("413"), "memory": chat.reply("note it")}, script)
    assert one.ending == Ending("completed") and one.env["asked"] == {"simulator": 2, "memory": 3}
    assert [(own.by, len(own.turns)) for own in one.aux_turns] == [("simulator", 2), ("memory", 3)]
    assert [r.content for r in one.replies if r.name == "call_tool"] == ["413", "413"]
    (memory,) = [m.content for m in one.messages if m.name == SPEAKER]
    assert memory == "Your memory: episodic note it\nworking note it\ntool note it"
    assert WORLD.correct(Group(TASK, (one,))).outcome[0] == 1
    assert all(len(server.bodies) > 1 for server in servers.values())
    shown = json.dumps({"name": SECOND["name"], "arguments": {**SECOND["arguments"], chained: 413}})
    assert json.dumps(shown) in servers["simulator"].bodies[-1]["messages"][-1]["content"]


FAILURES = {"HTTP 500": (500, {"error": "down"}), "no JSON": (200, b"<html>"), "empty": chat.reply(""), "cut": "cut"}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("role", ["simulator", "memory"])
def test_a_failure_of_a_role_is_never_a_score_and_no_rule_replaces_it(role, failure):
    one, _ = played({role: FAILURES[failure]}, [*SCRIPT, "x"])
    assert one.ending.kind == "infra_error" and repr(role) in one.ending.reason
    assert unscored_reason(one.ending) == "infra_error"
    assert not [m for m in one.messages if m.name == SPEAKER]
    results = [r.content for r in one.replies if r.name == "call_tool"]
    assert results == ([] if role == "simulator" else [str(FIRST["value"])])
