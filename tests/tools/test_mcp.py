import concurrent.futures
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from handaxe.core.errors import InfrastructureError, InputError, ToolDefinitionError
from handaxe.core.records import Message, ParsedTurn, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.tools import check_mcp
from handaxe.tools import mcp_content
from handaxe.tools.definition import ToolContext
from handaxe.tools.mcp import MAX_DESCRIPTION, mcp
from handaxe.tools.mcp_limits import MAX_PARTS

SERVERS = Path(__file__).with_name("servers")
EVERYTHING = "@modelcontextprotocol/server-everything"


def raw(mode):
    return [sys.executable, str(SERVERS / "raw.py"), mode]


def stateful(*arguments):
    return [sys.executable, str(SERVERS / "stateful.py"), *arguments]


def call(tools, name, _id="c0", **arguments):
    (tool,) = [tool for tool in tools if tool.schema.name == name]
    reply = tool.run(ToolCall(name, arguments, _id))
    return reply.status, reply.content


def becomes_true(is_so, seconds=60.0):
    """Wait until a condition holds; returns whether it does."""
    end = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def dead(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def dies(pid):
    """Wait until a process is dead; returns whether it is."""
    return becomes_true(lambda: dead(pid))


def close(*made):
    for tools in made:
        tools[0].owner.close()


def listening(port, seconds=60):
    for _ in range(seconds * 10):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens on {port}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def url():
    """The stateful server over HTTP."""
    port = free_port()
    process = subprocess.Popen(stateful(str(port)), stderr=subprocess.DEVNULL)
    try:
        listening(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def tools():
    """Shared session over stdio, for tests without side effects."""
    made = mcp(command=stateful())()
    yield made
    close(made)


# --- what a call gives -----------------------------------------------------------------------------------------


def test_texts_errors_and_structured_content_are_returned(tools):
    assert call(tools, "shout", count=3) == ("ok", "xxx")
    status, text = call(tools, "fail", message="caf\u00e9 \U0001f996")
    assert status == "retry" and "caf\u00e9 \U0001f996" in text
    status, text = call(tools, "hang", seconds="soon")
    assert status == "invalid" and "seconds: 'soon' is not of type 'number'" in text


def test_long_reply_is_cut(tools):
    status, text = call(tools, "shout", count=10_000_000)
    assert status == "ok" and 9_990 < len(text) <= 10_000 and "characters cut" in text


def test_noise_on_stdout_is_ignored(tools):
    assert call(tools, "noise") == ("ok", "quiet again")


@pytest.mark.slow
def test_server_has_minimal_environment_and_own_folder(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")
    made = mcp(command=stateful(), env={"GIVEN": "1"})()
    folder, *names = call(made, "surroundings")[1].split("\n")
    assert "SECRET_TOKEN" not in names and {"GIVEN", "PATH", "TMPDIR"} <= set(names)
    assert Path(folder).exists() and folder != os.getcwd()
    close(made)
    assert not Path(folder).exists()


@pytest.mark.slow
def test_timeout_cancels_the_request_and_keeps_the_session():
    made = mcp(command=stateful(), timeout=3.0, timeout_is="policy")()
    assert call(made, "hang", seconds=600)[0] == "timeout"
    assert becomes_true(lambda: call(made, "cancellations") == ("ok", "[600.0]"))
    close(made)


def test_refused_arguments_are_retry():
    made = mcp(command=raw("refuses"))()
    assert call(made, "plain") == ("retry", "no such colour")
    close(made)


def test_lone_surrogate_is_retry_and_keeps_the_session():
    made = mcp(command=raw("meta"))()
    status, text = call(made, "plain", word="\ud800")
    assert status == "retry" and "half a character" in text
    assert call(made, "plain", word="\u00e9")[0] == "ok"
    close(made)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


UNSENDABLE = {
    "half an emoji": ({"word": "\ud83d"}, "half a character"),
    "half a key": ({"\udc00": 1}, "half a character"),
    "half an emoji inside": ({"word": [{"a": ["\ud83d"]}]}, "half a character"),
    "260 lists": ({"word": nested(260)}, "nested more than 64 deep"),
    "5,000 lists": ({"word": nested(5_000)}, "nested more than 64 deep"),
}


@pytest.mark.parametrize("shared", [False, True])
def test_unsendable_arguments_are_retry(shared):
    with mcp(command=raw("meta"), shared=shared) as factory:
        made = factory()
        for arguments, why in UNSENDABLE.values():
            status, text = call(made, "plain", **arguments)
            assert status == "retry" and why in text
        for arguments in ({"word": nested(60)}, {"word": float("inf")}, {"word": "\x00"}, {"word": 9**4000}):
            assert call(made, "plain", **arguments)[0] == "ok"
        close(made)


@pytest.mark.slow
def test_unsendable_arguments_do_not_disturb_other_calls():
    with mcp(command=raw("waits"), shared=True) as factory, concurrent.futures.ThreadPoolExecutor(4) as pool:
        honest = [pool.submit(call, factory(), "plain", number=k) for k in range(4)]
        evil = factory()
        for arguments, _ in UNSENDABLE.values():
            assert call(evil, "plain", **arguments)[0] == "retry"
        assert [one.result() for one in honest] == [("ok", "at last")] * 4


def test_result_with_many_parts_is_cut(monkeypatch):
    made = mcp(command=raw("parts"), max_chars=100_000, timeout=120)()
    blocks = []
    text_of = mcp_content._read_block
    monkeypatch.setattr(
        mcp_content, "_read_block", lambda block, decode: blocks.append(block) or text_of(block, decode)
    )
    status, text = call(made, "plain")
    assert status == "ok" and text == "a\n" * MAX_PARTS + "[299000 further parts left out]"
    assert len(blocks) == MAX_PARTS + 1
    close(made)


def test_noise_is_counted_and_warned_about_once(caplog):
    factory = mcp(command=raw("chatty"))
    for _ in range(2):
        made = factory()
        session = made[0].owner
        assert session.report() == {"lines that are no messages": 0}
        call(made, "plain")
        close(made)
        assert session.report() == {"lines that are no messages": 5}
    (told,) = [record.getMessage() for record in caplog.records if record.name == "handaxe.tools.mcp"]
    assert (
        "wrote 5 lines to stdout that are no messages" in told
        and "4 lines that are no messages, the first: '\"line 1\"'" in told
    )


def test_call_id_is_sent():
    made = mcp(command=raw("meta"))()
    (plain,) = [tool for tool in made if tool.schema.name == "plain"]
    for seed in (7, 8):
        key = ToolContext("t3c1", seed).key
        assert f'"handaxe/call_id": "{key}"' in plain.run(ToolCall("plain", {}, "t3c1"), seed=seed).content
    close(made)


def test_internal_error_ends_only_the_call():
    made = mcp(command=raw("flaky"))()
    status, text = call(made, "plain")
    assert status == "infra_error" and "reports 'internal'" in text
    assert call(made, "plain") == ("ok", f"call 2 {ToolContext('c0', 0).key}")
    close(made)


def test_protocol_violation_ends_the_session():
    made = mcp(command=raw("broken"))()
    assert call(made, "plain")[0] == "infra_error"
    status, text = call(made, "plain")
    assert status == "infra_error" and "has ended" in text
    close(made)


# --- trying again, and how many at once ------------------------------------------------------------------------


def tries(made, **more):
    return {tool.schema.name: call(made, tool.schema.name, _id="t0c1", **more) for tool in made}


def test_calls_are_retried_if_the_server_marks_them_safe():
    made = mcp(command=raw("flaky"), retries=1, cost=2.0)()
    found = tries(made)
    assert found["reads"] == found["again"] == ("ok", f"call 2 {ToolContext('t0c1', 0).key}")
    assert found["plain"][0] == found["claims"][0] == "infra_error"
    close(made)
    made = mcp(command=raw("flaky"), retries=1, cost=2.0)()
    assert [tool.run(ToolCall(tool.schema.name, {}, "")).cost for tool in made] == [2.0, 4.0, 4.0, 2.0]
    close(made)


def test_calls_are_retried_if_listed_as_repeatable():
    for repeatable, safe in ((["plain"], {"plain"}), ([], set())):
        made = mcp(command=raw("flaky"), retries=1, repeatable=repeatable, prefix="x_")()
        assert {name for name, (status, _) in tries(made).items() if status == "ok"} == {f"x_{name}" for name in safe}
        close(made)
    made = mcp(command=raw("flaky"))()
    assert {status for status, _ in tries(made).values()} == {"infra_error"}, "no retries were asked for"
    close(made)
    with pytest.raises(InputError, match=r"no tools \['nothing'\]"):
        mcp(command=raw("flaky"), retries=1, repeatable=["nothing"])()


@pytest.mark.slow
def test_retry_after_timeout_uses_the_same_session():
    made = mcp(command=raw("late"), retries=1, repeatable=["plain"], timeout=2.0)()
    assert call(made, "plain") == ("ok", f"call 2 {ToolContext('c0', 0).key}")
    assert call(made, "reads")[0] == "timeout"
    close(made)


def test_ended_session_is_not_restarted_for_a_retry(tmp_path):
    made = mcp(command=stateful(), retries=1, repeatable=["die_once"])()
    status, text = call(made, "die_once", flag=str(tmp_path / "flag"))
    assert status == "infra_error" and "has ended" in text
    close(made)


@pytest.mark.slow
def test_ended_shared_session_is_restarted_for_a_retry(tmp_path):
    with mcp(command=stateful(), shared=True, retries=1, repeatable=["die_once"]) as factory:
        first, second = factory(), factory()
        pid = first[0].owner.session.pid
        assert call(first, "die_once", flag=str(tmp_path / "flag")) == ("ok", "alive")
        assert call(second, "shout", count=2) == ("ok", "xx"), "who did not see it die goes on too"
        (standing,) = [session.wait() for session in factory._ready]
        assert dies(pid) and standing.pid != pid
    assert dies(standing.pid)
    status, text = call(first, "shout", count=2)
    assert status == "infra_error" and "are closed" in text
    assert not factory._ready


@pytest.mark.slow
def test_limit_counts_all_rollouts_and_tools():
    with mcp(command=stateful(), shared=True, limit=2) as factory, concurrent.futures.ThreadPoolExecutor(6) as pool:
        rollouts = [factory() for _ in range(6)]
        assert len({id(tool.limit) for made in rollouts for tool in made}) == 1
        replies = list(pool.map(lambda made: call(made, "meet", count=2), rollouts))
    assert replies == [("ok", "2")] * 6


# --- sessions --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_concurrent_rollouts_share_nothing():
    factory = mcp(command=stateful())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        sessions = list(pool.map(lambda _: factory(), range(3)))
        list(pool.map(lambda k: call(sessions[k], "remember", key=f"k{k}", value=str(k)), range(3)))
        found = list(pool.map(lambda made: call(made, "recall")[1], sessions))
    assert [eval(text) for text in found] == [{f"k{k}": str(k)} for k in range(3)]
    assert len({made[0].owner.pid for made in sessions}) == 3
    close(*sessions)


@pytest.mark.slow
def test_concurrent_rollouts_share_nothing_over_http(url):
    factory = mcp(url=url)
    sessions = [factory() for _ in range(3)]
    for k, made in enumerate(sessions):
        call(made, "remember", key="k", value=str(k))
    assert [eval(call(made, "recall")[1]) for made in sessions] == [{"k": str(k)} for k in range(3)]
    close(*sessions)
    assert call(sessions[0], "recall")[0] == "infra_error"


def test_shared_server_is_replaced_after_its_death():
    with mcp(command=stateful(), shared=True) as factory:
        first, second = factory(), factory()
        call(first, "remember", key="a", value="1")
        close(first)
        assert eval(call(second, "recall")[1]) == {"a": "1"}
        pid = first[0].owner.session.pid
        status, text = call(second, "die", status=7)
        assert status == "infra_error" and "status 7" in text and "goodbye, cruel world" in text
        assert call(factory(), "recall") == ("ok", "{}")
    assert dies(pid)


def test_warm_sessions_serve_one_rollout_each():
    factory = mcp(command=raw("plain"), warm=2)
    first, second = factory(), factory()
    pids = {first[0].owner.pid, second[0].owner.pid}
    third = factory()
    assert len(pids | {third[0].owner.pid}) == 3
    waiting = [session.wait().pid for session in factory._ready]
    assert len(waiting) == 2
    close(first, second, third)
    factory.close()
    assert all(dies(pid) for pid in waiting)


def test_dead_warm_session_is_skipped():
    factory = mcp(command=raw("plain"), warm=1)
    first = factory()
    (waiting,) = [session.wait() for session in factory._ready]
    waiting.close()
    second = factory()
    assert second[0].owner is not waiting and second[0].owner.usable
    close(first, second)
    factory.close()


def test_crash_ends_only_its_rollout():
    factory = tool_chat([mcp(command=raw("crash"))])
    for arguments, kind in [({"die": True}, "infra_error"), ({}, None), ({"die": True}, "infra_error")]:
        env = factory(Task("t", (Message("user", "?"),)))
        env.start()
        reply = env.step(ParsedTurn("", (ToolCall("plain", arguments, "c0"),)), seed=0)
        assert (reply.ending.kind if reply.ending else None) == kind
        if kind:
            assert "status 9" in reply.ending.reason and "so cold" in reply.ending.reason
        env.close()


def test_second_close_does_nothing_and_later_calls_fail():
    made = mcp(command=raw("plain"))()
    close(made)
    close(made)
    assert call(made, "plain")[0] == "infra_error"


# --- a folder of its own, and how many at a time ----------------------------------------------------------------


@pytest.mark.slow
def test_folder_placeholder_is_replaced_in_command_and_env():
    made = mcp(command=stateful(), env={"NOTES": "{folder}/notes:{folder}", "OTHER": "{other}"})()
    folder, *_ = call(made, "surroundings")[1].split("\n")
    assert call(made, "variable", of="NOTES") == ("ok", f"{folder}/notes:{folder}")
    assert call(made, "variable", of="OTHER") == ("ok", "{other}")
    close(made)
    assert not Path(folder).exists()
    text = "import sys; sys.stderr.write(sys.argv[1]); sys.exit(3)"
    with pytest.raises(InfrastructureError, match=r"handaxe-mcp-\w+/notes$"):
        mcp(command=[sys.executable, "-c", text, "{folder}/notes"], cwd="/")()


class Living:
    """Environment factory that counts open environments."""

    def __init__(self, factory):
        self.factory, self.open, self.seen = factory, 0, []
        if hasattr(factory, "most"):
            self.most = factory.most

    def __call__(self, task):
        env = self.factory(task)
        self.open += 1
        self.seen.append(self.open)
        close = env.close

        def closing():
            close()
            self.open -= 1

        env.close = closing
        return env


@pytest.mark.parametrize("lockstep", [False, True])
def test_rollouts_wait_for_a_free_server(lockstep):
    """More rollouts than threads, and more threads than servers: no deadlock."""
    factory = mcp(command=raw("meta"), servers=2)
    env = Living(tool_chat([factory]))
    assert env.most == 2
    task = Task("t", (Message("user", "?"),))
    script = [ToolCall("plain", {}), ToolCall("plain", {}), "Done."]
    engine = ScriptedEngine(Compact(), script, tools=env(task).start()[1])
    env.open, env.seen = 0, []
    attempts = [Attempt(task, env, Compact(), Sampling(max_tokens=200), f"a{k}", k, k, 1 << 16) for k in range(7)]
    played = driver.run(attempts, linear(max_turns=4), engine, workers=3, lockstep=lockstep)
    assert [one.ending.kind for (one,) in played] == ["completed"] * 7
    assert len(env.seen) == 7 and env.open == 0
    assert max(env.seen) == 2 if lockstep else max(env.seen) <= 2


def test_servers_bounds_the_environment_factory():
    assert tool_chat([mcp(command=raw("plain"), shared=True)]).__dict__ == {}
    assert tool_chat([mcp(command=raw("plain"), servers=None)]).__dict__ == {}
    one, other = mcp(command=raw("plain"), servers=5), mcp(command=raw("plain"), servers=3, prefix="x_")
    assert tool_chat([one, other]).most == 3
    with pytest.raises(InputError, match="servers is 0"):
        mcp(command=raw("plain"), servers=0)


# --- nothing is left behind ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["stubborn", "child"])
def test_stubborn_server_is_killed(mode):
    made = mcp(command=raw(mode))()
    pid = made[0].owner.pid
    close(made)
    assert dies(pid)


def test_children_of_a_server_are_killed():
    made = mcp(command=raw("child"))()
    child = int(call(made, "plain")[1])
    close(made)
    assert dies(child)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "1/0"])
def test_servers_end_with_the_program(end, tmp_path):
    """The program is killed, or ends by an error, without closing anything; the sessions' folders are deleted."""
    program = f"from handaxe.tools.mcp import mcp\ntools = mcp(command={raw('stubborn')!r}, warm=1)()\n"
    program += f"print(tools[0].owner.pid, flush=True)\n{end}\n"
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env)
    assert dies(int(done.stdout)) and becomes_true(lambda: not list(tmp_path.iterdir()))


# --- starting --------------------------------------------------------------------------------------------------


def test_failed_start_has_its_reason():
    with pytest.raises(InfrastructureError, match=r"status 3(.|\n)*no licence found"):
        mcp(command=raw("exit"))()
    with pytest.raises(InfrastructureError, match="a line that is no message: 'starting up ...'"):
        mcp(command=raw("logs"))()
    with pytest.raises(InfrastructureError, match="cannot be started"):
        mcp(command=["/no/such/program"])()
    with pytest.raises(InfrastructureError, match="gives no session"):
        mcp(url=f"http://127.0.0.1:{free_port()}/mcp")()


def test_silent_server_is_abandoned():
    with pytest.raises(InfrastructureError, match="did not start within 1 seconds"):
        mcp(command=raw("mute"), startup=1.0)()


def test_endless_line_ends_the_session(monkeypatch):
    monkeypatch.setattr("handaxe.tools.mcp_stdio.MAX_MESSAGE", 2**22)
    with pytest.raises(InfrastructureError, match="a line of more than 4194304 bytes"):
        mcp(command=raw("endless"))()


def test_invalid_arguments_raise():
    for wrong in ({}, {"command": ["a"], "url": "http://b"}, {"command": "npx server"}):
        with pytest.raises(InputError, match="give either command"):
            mcp(**wrong)
    for wrong in ({"timeout": 0}, {"startup": -1}, {"warm": -1}, {"retries": -1}):
        with pytest.raises(InputError, match="above 0"):
            mcp(command=["a"], **wrong)
    with pytest.raises(InputError, match="limit is 0 calls"):
        mcp(command=["a"], limit=0)
    with pytest.raises(InputError, match="the value of the header 'Authorization'") as error:
        mcp(url="http://127.0.0.1:9/mcp", headers={"Authorization": "Bearer abc\n"})
    assert "abc" not in str(error.value)


# --- what a server says of itself ------------------------------------------------------------------------------


def test_names_become_valid_and_unique():
    made = mcp(command=raw("names"), prefix="x-")()
    names = [tool.schema.name for tool in made]
    assert names[:3] == ["x-a_b_c", "x-a_b_c_2", "x-7up"]
    assert len(set(names)) == 6 and all(len(name) <= 64 and name.isascii() for name in names)
    assert not any(sign in name for name in names for sign in "<|>\x1b\n")
    close(made)
    made = mcp(command=raw("names"), only=["7up"])()
    assert [tool.schema.name for tool in made] == ["_7up"]
    close(made)


def test_descriptions_are_cut_and_add_no_control_ids():
    made = mcp(command=raw("descriptions"))()
    (tool,) = made
    assert len(tool.schema.description) == MAX_DESCRIPTION
    assert len(tool.schema.parameters["properties"]["a"]["description"]) == MAX_DESCRIPTION
    ids = Compact().start([Message("user", "?")], [tool.schema]).ids
    assert sum(i > 255 for i in ids) == 5, "SYSTEM, END, USER, END, ASSISTANT"
    close(made)


@pytest.mark.parametrize("mode, message", [("schema", "'wide' has"), ("deep", "levels"), ("none", "offers no tools")])
def test_oversized_schema_raises_with_the_tool(mode, message):
    with pytest.raises(ToolDefinitionError, match=message):
        mcp(command=raw(mode))()


def test_only_limits_the_tools_and_raises_for_an_unsupported_one():
    made = mcp(command=raw("schema"), only=["plain"])()
    assert [tool.schema.name for tool in made] == ["plain"]
    close(made)
    with pytest.raises(InputError, match=r"no tools \['bare'\]; it has \['plain', 'wide'\]"):
        mcp(command=raw("schema"), only=["bare"])()


def test_too_many_tools_raise(monkeypatch):
    made = []
    monkeypatch.setattr(sys.modules["handaxe.tools.mcp"], "tool_from_schema", lambda *given, **more: made.append(given))
    with pytest.raises(InfrastructureError, match="lists more than 1000 tools"):
        mcp(command=raw("many"))()
    assert not made, "a tool of a server that is refused anyway was made"


def test_changed_tools_are_refused(tmp_path):
    factory = mcp(command=[*raw("drifts"), str(tmp_path / "count")])
    first = factory()
    with pytest.raises(InfrastructureError, match="describes its tool 'second' differently from the first session"):
        factory()
    close(first)


def test_endless_list_of_tools_is_refused():
    with pytest.raises(InfrastructureError, match="more than 50 pages"):
        mcp(command=raw("pages"))()


# --- whole rollouts, and a server of others --------------------------------------------------------------------


def play(factory, script, samples=1):
    task = Task("t", (Message("user", "Remember."),))
    env = tool_chat([factory])
    one = factory()
    engine = ScriptedEngine(Compact(), script, tools=[tool.schema for tool in one])
    close(one)
    attempts = [Attempt(task, env, Compact(), Sampling(max_tokens=200), f"a{k}", k, k, 1 << 16) for k in range(samples)]
    played = [trajectories[0] for trajectories in driver.run(attempts, linear(max_turns=4), engine)]
    for trajectory in played:
        check(trajectory)
    return played


@pytest.mark.slow
def test_tool_chat_runs_whole_rollouts():
    note = ToolCall("remember", {"key": "a", "value": "caf\u00e9"})
    played = play(mcp(command=stateful()), [note, ToolCall("shout", {"count": 2}), "Done."], samples=2)
    for trajectory in played:
        assert trajectory.ending.kind == "completed"
        assert [reply.content for reply in trajectory.replies] == ["noted", "xx"]


@pytest.fixture(scope="session")
def everything(npm_program):
    """The reference server."""
    return npm_program(EVERYTHING, "dist/index.js")


@pytest.fixture(scope="session")
def memory(npm_program):
    """The reference server with state in a file, by default beside its code."""
    return npm_program("@modelcontextprotocol/server-memory", "dist/index.js")


def remembering(word):
    entity = {"name": word, "entityType": "word", "observations": []}
    return [ToolCall("create_entities", {"entities": [entity]}, "c0"), ToolCall("read_graph", {}, "c1")]


@pytest.mark.slow
def test_check_mcp_detects_a_shared_file(memory, tmp_path):
    own = {"MEMORY_FILE_PATH": "{folder}/memory.json"}
    check_mcp(mcp(command=["node", str(memory)], env=own), remembering)
    shared = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    with pytest.raises(AssertionError, match="can read what another rollout wrote"):
        check_mcp(mcp(command=["node", str(memory)], env=shared), remembering)


def check_everything(made):
    assert call(made, "echo", message="caf\u00e9 \U0001f996") == ("ok", "Echo: caf\u00e9 \U0001f996")
    assert call(made, "get-sum", a=2, b=40) == ("ok", "The sum of 2 and 40 is 42.")
    assert "[image/png, " in call(made, "get-tiny-image")[1]
    assert "[resource demo://resource/" in call(made, "get-resource-links", count=2)[1]
    assert "[text/plain demo://resource/" in call(made, "get-resource-reference", resourceType="Text", resourceId=1)[1]
    assert '"temperature":' in call(made, "get-structured-content", location="New York")[1]
    assert call(made, "get-sum", a=2, b="x")[0] == "invalid"


def test_reference_server_works_over_stdio_without_our_secrets(everything, monkeypatch):
    monkeypatch.setenv("EXAMPLE_SECRET", "not for servers")
    made = mcp(command=["node", str(everything), "stdio"])()
    check_everything(made)
    seen = call(made, "get-env")[1]
    assert '"PATH"' in seen and "EXAMPLE_SECRET" not in seen and "not for servers" not in seen
    close(made)


@pytest.mark.slow
def test_reference_server_works_over_http(everything):
    port = free_port()
    process = subprocess.Popen(
        ["node", str(everything), "streamableHttp"], env={**os.environ, "PORT": str(port)}, stderr=subprocess.DEVNULL
    )
    try:
        listening(port)
        factory = mcp(url=f"http://127.0.0.1:{port}/mcp")
        first, second = factory(), factory()
        check_everything(first)
        check_everything(second)
        close(first, second)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
