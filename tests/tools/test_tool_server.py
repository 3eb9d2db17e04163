"""Tools in a server process: kinds of tools, concurrency, and a process that is killed and started again."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("mcp")

from handaxe.core.errors import InfrastructureError, InputError  # noqa: E402
from handaxe.core.records import Message, ParsedTurn, Sampling, Task, ToolCall  # noqa: E402
from handaxe.envs.tool_chat import tool_chat  # noqa: E402
from handaxe.evaluation.evaluate import evaluate  # noqa: E402
from handaxe.methods.build import build  # noqa: E402
from handaxe.methods.run_spec import run_template  # noqa: E402
from handaxe.models.chat_formats.transcript import Transcript  # noqa: E402
from handaxe.rewards.exact_match import exact_match  # noqa: E402
from handaxe.rollouts.linear import linear  # noqa: E402
from handaxe.testing.scripted_engine import ScriptedEngine  # noqa: E402
from handaxe.tools.calculator import calculator  # noqa: E402
from handaxe.tools.python import python  # noqa: E402
from handaxe.tools.tool_server import ToolServer, tool_name  # noqa: E402

MODULE = '''
import os
import sqlite3
import threading

from handaxe.tools.decorator import tool
from handaxe.tools.sql import sql

with sqlite3.connect("towns.db") as rows:
    rows.execute("create table if not exists towns as select 'Ambry' as name, 7 as size")
towns = sql("towns.db")
both = threading.Barrier(2)


@tool
def meet() -> str:
    """Wait for a second caller."""
    both.wait(60)
    return "met"


@tool
def die() -> str:
    """End the process."""
    os._exit(3)
'''
SMALL = {"steps": 2, "groups": 3, "group_size": 4, "held_out": 4, "model": "tiny"}
NAMES = [
    "handaxe.tools.calculator:calculator",
    "handaxe.tools.python:python",
    "served_here:towns",
    "served_here:meet",
    "served_here:die",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "served_here.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        one = ToolServer(NAMES)
        yield one
        one.close()


def run(tools, name, **arguments):
    (tool,) = [one for one in tools if one.schema.name == name]
    reply = tool.run(ToolCall(name, arguments, "a"))
    return reply.status, reply.content


@pytest.mark.slow
def test_one_process_serves_several_kinds_of_tools_with_a_session_each(server):
    first, second = server(), server()
    assert server.starts == 1
    assert run(first, "calculator", expression="2*3") == ("ok", "6")
    assert run(first, "query", sql="select size from towns")[0] == "ok"
    assert run(first, "python", code="x = 5")[0] == "ok"
    assert run(first, "python", code="print(x)") == ("ok", "5")
    status, text = run(second, "python", code="print(x)")
    assert status == "retry" and "NameError" in text
    met = []
    threads = [threading.Thread(target=lambda tools=tools: met.append(run(tools, "meet"))) for tools in (first, second)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert met == [("ok", "met")] * 2  # neither call returns before the other has begun


@pytest.mark.slow
def test_a_killed_process_costs_the_rollouts_in_progress_their_scores_and_is_started_again(server):
    questions = ["1+1", "die", "2+2", "no call"]  # the last one needs no call, so that one rollout always has a score

    answers = {"1+1": "2", "2+2": "4", "die": "", "no call": "0"}

    def script(text, turn):
        (question,) = [one for one in questions if f'"content": "{one}"' in text]
        if turn or question == "no call":
            return answers[question]
        return ToolCall("die", {}) if question == "die" else ToolCall("calculator", {"expression": question})

    server()
    starts = server.starts
    result = evaluate(
        engine=ScriptedEngine(Transcript(), script),
        env=tool_chat([server]),
        format=Transcript(),
        rollout=linear(max_turns=2),
        tasks=[Task(one, (Message("user", one),), answers[one]) for one in questions],
        reward=exact_match(),
        sampling=Sampling(temperature=0, max_tokens=256),
    )
    endings = {task: one.endings for task, one in zip(questions, result.tasks, strict=True)}
    assert endings["die"] == {"infra_error": 1} and endings["no call"] == {"completed": 1}
    assert all(set(one) <= {"completed", "infra_error"} for one in endings.values())
    assert all(one.scored == one.endings.get("completed", 0) for one in result.tasks)
    assert run(server(), "calculator", expression="2*4") == ("ok", "8")
    assert server.starts == starts + 1


@pytest.mark.slow
def test_a_process_that_opens_no_session_is_replaced(server):
    stuck = ToolServer(NAMES[:1])
    stuck()
    pid = stuck.pid
    stuck._tools._startup = 1.0  # seconds until a session must be ready; the next process has the default
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(InfrastructureError, match="did not start within 1"):
        stuck()
    assert run(stuck(), "calculator", expression="1+1") == ("ok", "2")
    assert stuck.pid != pid and stuck.starts == 2
    stuck.close()
    assert stuck.pid is None


@pytest.mark.slow
def test_the_process_ends_with_its_program():
    code = (
        "import time; from handaxe.tools.tool_server import ToolServer\n"
        f"server = ToolServer({NAMES[:1]!r}); server(); print(server.pid, flush=True); time.sleep(600)"
    )
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(program.stdout.readline())
    program.kill()
    program.wait()
    program.stdout.close()
    until = time.monotonic() + 60
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}")


def test_training_and_evaluation_of_a_run_call_the_same_server(monkeypatch):
    servers = []

    class Recorded(ToolServer):
        def __init__(self, names):
            super().__init__(names)
            servers.append(self)

    monkeypatch.setattr("handaxe.tools.tool_server.ToolServer", Recorded)
    made = build(run_template("verltool").read({**SMALL, "tool_server": True}))
    held_out = made["run"].evaluation.evaluate
    envs = [made["env"](made["tasks"].next(0, 1)[0]), held_out.env(held_out.tasks[0])]
    try:
        replies = [
            one.step(ParsedTurn("", (ToolCall("calculator", {"expression": "2*3"}, "a"),)), seed=0) for one in envs
        ]
        assert [one.replies[0].content for one in replies] == ["6", "6"]
        assert [(one.names, one.starts) for one in servers] == [(tuple(NAMES[:1]), 1)]
    finally:
        for one in (*envs, *servers):
            one.close()
    with pytest.raises(InputError, match="needs a list of tools"):
        build(run_template("grpo_no_kl").read({**SMALL, "tools": ("none",), "tool_server": True}))


@pytest.mark.slow
def test_bad_tools_are_refused():
    assert tool_name(calculator) == NAMES[0] and tool_name(python) == NAMES[1]
    for tool in (lambda: calculator, [calculator]):
        with pytest.raises(InputError, match="--tools MODULE:ATTRIBUTE"):
            tool_name(tool)
    with pytest.raises(InputError, match="needs a list of tools"):
        ToolServer([])
    with pytest.raises(InfrastructureError, match="ended with status 2.*there is no tool"):
        ToolServer(["handaxe.tools.calculator:abacus"])()
