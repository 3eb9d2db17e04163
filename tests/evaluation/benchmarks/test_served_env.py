"""mcp_company over MCP: equal replies and states, and servers that die."""

import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.core.records import ParsedTurn, Sampling, ToolCall
from handaxe.evaluation.benchmarks.company_server import BriefServer
from handaxe.evaluation.benchmarks.mcp_company import company_world
from handaxe.evaluation.benchmarks.served_env import SERVERS, served_env
from handaxe.evaluation.evaluate import evaluate
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.tool_owners import collect_tools
from handaxe.worlds.toolbox.box import BriefBox

for package in ("bfcl_eval", "bm25s", "jsonschema", "mcp"):
    pytest.importorskip(package)
from handaxe.tools.tool_from_schema import tool_from_schema  # noqa: E402


def turns(task):
    """Turns of calls: correct ones, several in one turn, and ones that are refused."""
    first, second = task.metadata["steps"]
    call = ToolCall("call_tool", {"name": first["name"], "arguments": first["arguments"]}, "a")
    wrong = ToolCall("call_tool", {"name": first["name"], "arguments": {"c": 1}}, "b")
    return [
        (ToolCall("find_tools", {"query": first["query"]}, "a"), ToolCall("find_tools", {"query": "no word"}, "b")),
        (ToolCall("find_tools", {"query": " "}, "a"), ToolCall("find_tools", {"query": "1" * 501}, "b")),
        (wrong, ToolCall("call_tool", {"name": "nothing", "arguments": {}}, "c")),
        (ToolCall("find_tools", {}, "a"), ToolCall("call_tool", {"name": "a", "arguments": "b", "c": 1}, "b")),
        (ToolCall("read_state", {}, "a"), ToolCall("open_task", {"steps": "[]"}, "b")),
        (call, ToolCall("find_tools", {"query": second["query"]}, "b")),
        (ToolCall("call_tool", {"name": second["name"], "arguments": {**second["arguments"], "a": 1.5}}, "a"),),
        (ToolCall("call_tool", {"name": second["name"], "arguments": second["arguments"]}, "a"),),
    ]


def seen(env, calls):
    reply = env.step(ParsedTurn("", calls), seed=7)
    return [(one.call_id, one.name, one.status, one.content) for one in reply.replies], reply.messages, reply.facts


@pytest.mark.slow
def test_same_calls_give_the_same_results_over_a_server_and_a_dead_server_is_an_infra_error():
    here, there = (company_world(2, brief=True, served=served) for served in (False, True))
    (task,) = here.tasks("test", 1, 0)
    assert there.tasks("test", 1, 0) == [task]
    make = there.env(())
    assert make.most == SERVERS
    env, other = make(task), here.env(())(task)
    try:
        assert env.start() == other.start()
        found = [(seen(env, calls), seen(other, calls)) for calls in turns(task)]
        assert all(one == two for one, two in found)
        assert found[-1][0][2] == {"found": [True, True], "made": [True, True]}
        assert env.report()["box"] == other.report()["box"]
        pid = env._box._session.pid
        os.kill(pid, signal.SIGSTOP)
        ended = []
        thread = threading.Thread(target=lambda: ended.append(env.step(ParsedTurn("", turns(task)[0]), seed=8)))
        thread.start()
        time.sleep(0.2)
        assert not ended
        os.kill(pid, signal.SIGKILL)
        thread.join(60)
        (reply,) = ended
        assert reply.done and reply.ending.kind == "infra_error" and "signal 9 ended it" in reply.ending.reason
        assert not reply.messages and env.report()["box"]["made"] == [True, True]
    finally:
        env.close()
        other.close()


class Local(BriefServer):
    """The tools of the server in this process; a server of a broken task dies in its first call."""

    broken = ""
    open_now = 0

    def __init__(self):
        super().__init__()
        Local.open_now += 1

    def _value(self, entry, arguments, content):
        if self._steps[0]["name"] == self.broken:
            raise ConnectionError("the server died")
        return super()._value(entry, arguments, content)

    def close(self):
        Local.open_now -= 1


def local():
    """A session without a server."""
    box = Local()
    return [
        tool_from_schema(one.schema, lambda given, _, one=one: one(**given), owner=box, timeout=None)
        for one in collect_tools(box)
    ]


def played(world, tasks):
    def script(text, turn):
        (task,) = [one for one in tasks if one.messages[-1].content in text]
        (step,) = task.metadata["steps"]
        call = ToolCall("call_tool", {"name": step["name"], "arguments": step["arguments"]})
        return (ToolCall("find_tools", {"query": step["query"]}), call, task.answer)[turn]

    return evaluate(
        engine=ScriptedEngine(Transcript(), script),
        env=world.env(()),
        format=Transcript(),
        rollout=world.make_rollout(4),
        tasks=tasks,
        reward=world.correct,
        sampling=Sampling(temperature=0, max_tokens=256),
        gauges=world.gauges,
    )


def test_only_the_rollout_of_a_dead_server_has_no_score(monkeypatch):
    world = company_world(1, brief=True)
    tasks = world.tasks("test", 3, 0)
    served = replace(world, env=served_env(local, BriefBox))
    whole = played(served, tasks)
    assert [one.gauges for one in whole.tasks] == [one.gauges for one in played(world, tasks).tasks]
    assert [one.scored for one in whole.tasks] == [1, 1, 1] and Local.open_now == 0
    monkeypatch.setattr(Local, "broken", tasks[1].metadata["steps"][0]["name"])
    some = played(served, tasks)
    assert [one.scored for one in some.tasks] == [1, 0, 1] and some.tasks[1].endings == {"infra_error": 1}
    assert some.excluded["infra_error"] == 1 and Local.open_now == 0


def test_a_server_that_dies_with_the_opening_is_a_failure_of_the_infrastructure(monkeypatch):
    def dead(self, state):
        raise ConnectionError("the server died")

    monkeypatch.setattr(Local, "restore", dead)
    (task,) = company_world(1, brief=True).tasks("test", 1, 0)
    with pytest.raises(InfrastructureError, match="open_task of the tool box: ConnectionError: the server died"):
        served_env(local, BriefBox)(())(task)
    assert Local.open_now == 0
