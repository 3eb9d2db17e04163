import asyncio
import dataclasses
import sqlite3
import sys
import threading
from contextlib import closing

import numpy as np
import pytest

from handaxe.core.errors import InfrastructureError, InputError, Retry, TaskError, ToolDefinitionError
from handaxe.core.images import PLACEHOLDER, Image, image_spans
from handaxe.core.protocols import AsyncEnv
from handaxe.core.records import Author, Ending, Message, ParsedTurn, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt, EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.extract import call_argument
from handaxe.rollouts import driver
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.tools import check_env, check_no_leak
from handaxe.tools import ToolContext, tool
from handaxe.tools.calculator import calculator
from handaxe.tools.cpython import cpython
from handaxe.tools.crop import crop
from handaxe.tools.deadline import Threads
from handaxe.tools.files import files
from handaxe.tools.http import http
from handaxe.tools.python import python
from handaxe.tools.sandbox.check_sandbox import check_sandbox
from handaxe.tools.sql import sql
from handaxe.tools.thread_pool import ThreadPool
from handaxe.worlds.parts.demonstrate import demonstrate

TASK = Task("t", (Message("user", "12*34=?"),), "408")


class Notes:
    live = 0

    def __init__(self):
        self.text = ""
        Notes.live += 1

    @tool(timeout=None)
    def write(self, text: str) -> str:
        """Write."""
        self.text += text
        return "written"

    @tool(timeout=None)
    def read(self) -> str:
        """Read."""
        return self.text

    def snapshot(self):
        return self.text

    def restore(self, state):
        self.text = state

    def report(self):
        return {"text": self.text}

    def close(self):
        Notes.live -= 1


@tool
def broken(what: str) -> str:
    """Break."""
    raise {"retry": Retry("again"), "bug": ValueError("secret")}[what]


def turn(*calls, text="", errors=()):
    made = tuple(ToolCall(name, arguments, f"c{i}") for i, (name, arguments) in enumerate(calls))
    return ParsedTurn(text, made, errors)


def contents(reply):
    return [message.content for message in reply.messages]


def test_conversation_with_calls_completes():
    env = tool_chat([calculator])(TASK)
    messages, tools = env.start()
    assert messages == TASK.messages and tools == (calculator.schema,)
    reply = env.step(turn(("calculator", {"expression": "12*34"}), ("calculator", {"expression": "1/0"})), seed=0)
    assert not reply.done and reply.ending is None
    assert reply.messages == (
        Message("tool", "408", call_id="c0", name="calculator"),
        Message("tool", "'1/0' divides by zero", call_id="c1", name="calculator"),
    )
    assert [(r.status, r.call_id) for r in reply.replies] == [("ok", "c0"), ("retry", "c1")]
    assert env.step(turn(text="408"), seed=1) == EnvReply(done=True)
    assert env.report() == {"replies": {"ok": 1, "retry": 1}, "malformed": 0, "state": {}}
    env.close()


def test_malformed_calls_are_answered():
    env = tool_chat([calculator])(TASK)
    reply = env.step(turn(("calculator", {"expression": "1+1"}), errors=("the call is not closed",)), seed=0)
    assert contents(reply) == ["2", "malformed call: the call is not closed"]
    assert not reply.done and len(reply.replies) == 1
    reply = env.step(turn(errors=("a", "b")), seed=0)
    assert contents(reply) == ["malformed call: a", "malformed call: b"] and not reply.done
    assert env.report()["malformed"] == 3


def test_malformed_calls_end_the_trajectory_with_on_malformed_end():
    env = tool_chat([Notes], on_malformed="end")(TASK)
    reply = env.step(turn(("write", {"text": "a"}), errors=("not JSON", "not closed")), seed=0)
    assert reply.done and reply.ending == Ending("policy_error", "not JSON")
    assert reply.messages == () and env.report()["state"] == {"Notes": {"text": ""}}
    env.close()


def test_unknown_and_unoffered_tools_are_invalid():
    factory = tool_chat([calculator, Notes])
    env = factory(Task("t", TASK.messages, tools=("calculator",)))
    assert [schema.name for schema in env.start()[1]] == ["calculator"]
    reply = env.step(turn(("search", {}), ("read", {}), ("x" * 10**6, {})), seed=0)
    assert [r.status for r in reply.replies] == ["invalid"] * 3
    assert contents(reply)[:2] == [f"there is no tool {n!r}; the tools are: calculator" for n in ("search", "read")]
    assert len(contents(reply)[2]) < 200
    env.close()
    env = factory(Task("t", TASK.messages, tools=()))
    assert env.start()[1] == ()
    env.close()
    with pytest.raises(TaskError, match="did you mean 'calculator'"):
        factory(Task("t", TASK.messages, tools=("calculater",)))
    with pytest.raises(TaskError, match="has no messages"):
        factory(Task("t", ()))


def test_broken_tool_ends_as_infra_error_unread():
    env = tool_chat([broken, Notes])(TASK)
    assert not env.step(turn(("broken", {"what": "retry"})), seed=0).done
    reply = env.step(turn(("write", {"text": "a"}), ("broken", {"what": "bug"}), ("write", {"text": "b"})), seed=0)
    assert reply.done and reply.ending == Ending("infra_error", "tool 'broken': ValueError: secret")
    assert contents(reply) == ["written"]
    assert [r.status for r in reply.replies] == ["ok", "infra_error"]
    assert env.report()["state"] == {"Notes": {"text": "a"}}
    env.close()


def test_timeout_is_decides_between_ending_and_reply():
    release = threading.Event()

    @tool(timeout=0.02)
    def ours() -> str:
        """Hang."""
        release.wait(30)
        return ""

    @tool(timeout=0.02, timeout_is="policy")
    def theirs() -> str:
        """Hang."""
        release.wait(30)
        return ""

    env = tool_chat([ours, theirs])(TASK)
    reply = env.step(turn(("theirs", {})), seed=0)
    assert not reply.done and contents(reply) == ["theirs gave no reply within 0.02 seconds"]
    reply = env.step(turn(("ours", {})), seed=0)
    assert reply.done and reply.ending.kind == "infra_error" and reply.messages == ()
    assert reply.replies[0].status == "timeout"
    release.set()


def test_tool_failing_after_some_calls_ends_the_trajectory():
    class Fragile:
        def __init__(self):
            self.left = 2

        @tool
        def use(self) -> str:
            """Use."""
            self.left -= 1
            if self.left < 0:
                raise InfrastructureError("the database is gone")
            return "ok"

    factory = tool_chat([Fragile])
    for _ in range(2):
        env = factory(TASK)
        endings = [env.step(turn(("use", {})), seed=0).ending for _ in range(3)]
        assert endings[:2] == [None, None] and endings[2].kind == "infra_error"


def test_state_does_not_leak_between_rollouts():
    check_no_leak(
        tool_chat([Notes]), TASK, write=lambda nonce: turn(("write", {"text": nonce})), read=turn(("read", {}))
    )
    check_no_leak(
        tool_chat([python]),
        TASK,
        write=lambda nonce: turn(("python", {"code": f"x = {nonce!r}"})),
        read=turn(("python", {"code": "x"})),
    )
    for shared in (Notes().write, Notes.write, python()):
        with pytest.raises(ToolDefinitionError, match="would leak between rollouts"):
            tool_chat([shared])


def test_contract_holds_and_owners_are_closed():
    live = Notes.live
    check_env(tool_chat([calculator]), TASK)
    check_env(tool_chat([calculator, Notes, python]), TASK)
    check_env(tool_chat([calculator], on_malformed="end"), TASK)
    assert Notes.live == live


def test_fork_restores_state_and_counts():
    factory = tool_chat([Notes, python])
    env = factory(TASK)
    env.step(turn(("write", {"text": "a"}), ("python", {"code": "x = 1"})), seed=0)
    state = env.snapshot()
    env.step(turn(("write", {"text": "b"}), ("python", {"code": "x = 2"})), seed=0)
    other = factory(TASK)
    for forked in (other, env):
        forked.restore(state)
        assert contents(forked.step(turn(("read", {}), ("python", {"code": "x"})), seed=0)) == ["a", "1"]
        assert forked.report()["replies"] == {"ok": 4}
        forked.close()


def test_unforkable_owner_is_named():
    class Plain:
        @tool
        def read(self) -> str:
            """Read."""
            return ""

    env = tool_chat([Plain])(TASK)
    with pytest.raises(InputError, match=r"\['Plain'\] cannot be forked"):
        env.snapshot()


def test_two_objects_of_one_class_have_two_reports():
    class Left(Notes):
        @tool(name="write_left")
        def write(self, text: str) -> str:
            """Write."""
            self.text += text
            return ""

        read = None

    Left.__name__ = "Notes"
    env = tool_chat([Notes, Left])(TASK)
    env.step(turn(("write", {"text": "a"}), ("write_left", {"text": "b"})), seed=0)
    assert env.report()["state"] == {"Notes": {"text": "a"}, "Notes 2": {"text": "b"}}
    env.close()


def test_bad_definitions_raise_at_construction():
    with pytest.raises(ToolDefinitionError, match=r"several tools are called \['calculator'\]"):
        tool_chat([calculator, calculator])
    with pytest.raises(ToolDefinitionError, match="has no tool"):
        tool_chat([lambda: object()])
    with pytest.raises(ZeroDivisionError):
        tool_chat([lambda: 1 / 0])


def tool_names(factory):
    env = factory(TASK)
    found = [schema.name for schema in env.start()[1]]
    env.close()
    return found


def test_nested_lists_of_tools_are_flattened():
    factory = tool_chat([[calculator], Notes, (broken, [lambda: python(seconds=1)])])
    assert tool_names(factory) == ["calculator", "write", "read", "broken", "python"]
    with pytest.raises(ToolDefinitionError, match=r"^tools\[1\]\[0\] is <tool write of Notes>, a method: its state"):
        tool_chat([calculator, [Notes().write]])


def plain(city: str) -> str:
    """Forgotten @tool."""
    return city


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("calculator", "tools[1]: 'calculator' is no tool: pass a tool, a list of tools, or a class"),
        (3, "tools[1]: 3 is no tool"),
        (None, "tools[1]: None is no tool"),
        ({"a": calculator}, "tools[1]: {'a': <tool calculator>} is no tool"),
        (["calculator"], "tools[1][0]: 'calculator' is no tool"),
        (sql, "tools[1] is handaxe.tools.sql:sql, which needs arguments (database): decorate a tool with @tool"),
        (
            http,
            "which needs arguments (allow): decorate a tool with @tool; for a tool factory, pass `http(",
        ),
        (plain, ":plain, which needs arguments (city): decorate a tool with @tool"),
    ],
)
def test_entry_that_is_no_tool_is_named_with_its_position(entry, message):
    with pytest.raises(ToolDefinitionError) as caught:
        tool_chat([calculator, entry])
    assert message in str(caught.value)


def test_factory_with_defaults_or_variadic_arguments_is_accepted():
    def make(*more, times=1, **other):
        return Notes() if (more, times, other) == ((), 1, {}) else None

    assert tool_names(tool_chat([make])) == ["write", "read"]


@pytest.fixture
def databases(tmp_path):
    for name in ("a", "b"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection, connection:
            connection.execute("CREATE TABLE t (v)")
            connection.execute("INSERT INTO t VALUES (?)", (name,))
    return tmp_path / "a.db", tmp_path / "b.db"


def test_prefix_separates_two_databases(databases):
    first, second = databases
    with pytest.raises(ToolDefinitionError, match=r"called \['query', 'tables'\].* sql, .*prefix='old_'"):
        tool_chat([sql(first), sql(second)])
    factory = tool_chat([sql(first), sql(second, prefix="old_")])
    assert tool_names(factory) == ["query", "tables", "old_query", "old_tables"]
    ask = {"sql": "select v from t"}
    reply = factory(TASK).step(turn(("query", ask), ("old_query", ask), ("old_tables", {})), seed=0)
    assert contents(reply) == ["v\na\n(1 row)", "v\nb\n(1 row)", "t(v)"]


def test_prefix_separates_folders_and_services():
    factory = tool_chat([files({"a": "1"}), files({"a": "2"}, prefix="b_"), http(["https://a.org"], prefix="a_")])
    assert tool_names(factory)[3:] == [
        "replace_text",
        "b_list_files",
        "b_read_file",
        "b_write_file",
        "b_replace_text",
        "a_http_get",
    ]
    env = factory(TASK)
    reply = env.step(
        turn(("b_write_file", {"path": "c", "text": "3"}), ("list_files", {}), ("b_list_files", {})), seed=0
    )
    assert contents(reply)[1:] == ["a (1 bytes)", "a (1 bytes)\nc (1 bytes)"]
    state = env.report()["state"]
    assert (state["Files"]["count"], state["Files 2"]["count"]) == (1, 2)
    with pytest.raises(ToolDefinitionError, match="'b list_files' is no tool name"):
        files(prefix="b ")


def test_prefix_separates_python_and_cpython():
    try:
        check_sandbox()
    except InputError as error:
        pytest.skip(str(error))
    full = lambda prefix="": cpython(packages=(), warm=0, prefix=prefix)  # noqa: E731
    with pytest.raises(ToolDefinitionError, match=r"called \['python'\].* cpython, .*prefix="):
        tool_chat([python, full])
    env = tool_chat([python, lambda: full("full_")])(TASK)
    code = {"code": "import sys\nsys.version_info[:2]"}
    reply = env.step(turn(("python", {"code": "x = 1"}), ("full_python", code), ("python", {"code": "x"})), seed=0)
    assert contents(reply) == ["", repr(sys.version_info[:2]), "1"]
    env.close()


def test_failing_close_raises_after_closing_the_others():
    class Stuck(Notes):
        @tool
        def stick(self) -> str:
            """Stick."""
            return ""

        write = read = None
        broken = False

        def close(self):
            super().close()
            if Stuck.broken:
                raise OSError("the disk is full")

    live = Notes.live
    env = tool_chat([Stuck, Notes])(TASK)
    Stuck.broken = True
    with pytest.raises(InfrastructureError, match="Stuck: OSError.*the disk is full"):
        env.close()
    assert Notes.live == live


def test_failing_factory_raises_after_closing_earlier_tools():
    room = [1]

    def late():
        room.pop()
        return []

    live = Notes.live
    factory = tool_chat([Notes, late])
    with pytest.raises(InfrastructureError, match="IndexError"):
        factory(TASK)
    assert Notes.live == live


def test_tools_receive_seed_and_call_id():
    seen = []

    @tool
    def draw(context: ToolContext) -> int:
        """Draw."""
        seen.append(context)
        return 0

    factory = tool_chat([draw])
    for seed in (7, 7, 8):
        factory(TASK).step(turn(("draw", {}), ("draw", {})), seed=seed)
    assert [context.call_id for context in seen] == ["c0", "c1"] * 3
    seeds = [context.seed for context in seen]
    assert seeds[:2] == seeds[2:4] and len(set(seeds)) == 4
    assert len({context.key for context in seen}) == 4


def test_retried_call_has_one_key():
    """A service outside of the rollouts, which carries out each key once; every first try dies after it did."""
    paid, tried = {}, []

    @tool(retries=1)
    def pay(amount: int, context: ToolContext) -> str:
        """Pay."""
        paid.setdefault(context.key, amount)
        tried.append(context)
        if tried.count(context) == 1:
            raise ConnectionError("the line was cut")
        return "paid"

    script = [ToolCall("pay", {"amount": 5}), ToolCall("pay", {"amount": 7}), "done"]
    sampling = Sampling(max_tokens=200)
    attempts = [
        Attempt(TASK, tool_chat([pay]), Compact(), sampling, f"t/{n}", n, derive_seed(0, 0, "t", n), 2000)
        for n in range(2)
    ]
    played = driver.run(attempts, linear(), ScriptedEngine(Compact(), script, tools=[pay.schema]))
    assert [[reply.content for reply in t.replies] for (t,) in played] == [["paid", "paid"]] * 2
    assert {context.call_id for context in tried} == {"t0c0", "t1c0"} and len(tried) == 8
    assert sorted(paid.values()) == [5, 5, 7, 7]


def run_on_loop(env, *turns):
    """Step through turns on an event loop with a single thread."""

    async def main():
        post = asyncio.get_running_loop().call_soon_threadsafe
        return [await env.astep(one, seed=n, threads=Threads(pool, post, longest=30)) for n, one in enumerate(turns)]

    pool = ThreadPool(1)
    try:
        return asyncio.run(main())
    finally:
        pool.close()


def without_seconds(replies):
    return [r._replace(replies=tuple(dataclasses.replace(x, seconds=0.0) for x in r.replies)) for r in replies]


def test_astep_equals_step():
    @tool
    async def later(text: str) -> str:
        """Wait."""
        await asyncio.sleep(0)
        return text

    turns = [
        turn(("write", {"text": "a"}), ("later", {"text": "b"}), ("write", {"text": "c"}), ("read", {})),
        turn(("nothing", {}), errors=("not JSON",)),
        turn(("read", {}), ("broken", {"what": "bug"}), ("write", {"text": "d"})),
        turn(text="done"),
    ]
    for on_malformed in ("reply", "end"):
        factory = tool_chat([Notes, later, broken], on_malformed=on_malformed)
        one, other = factory(TASK), factory(TASK)
        assert isinstance(one, AsyncEnv)
        expected = [one.step(each, seed=n) for n, each in enumerate(turns)]
        assert without_seconds(run_on_loop(other, *turns)) == without_seconds(expected)
        assert one.report() == other.report()


def test_astep_runs_calls_in_order():
    order = []

    @tool
    async def slow(name: str) -> str:
        """Take long."""
        await asyncio.sleep(0.02)
        order.append(name)
        return name

    @tool
    def quick(name: str) -> str:
        """Take no time."""
        order.append(name)
        return name

    (reply,) = run_on_loop(
        tool_chat([slow, quick])(TASK), turn(("slow", {"name": "a"}), ("quick", {"name": "b"}), ("slow", {"name": "c"}))
    )
    assert order == contents(reply) == ["a", "b", "c"]


@tool
def submit(text: str) -> str:
    """Hand in the answer."""
    if not text:
        raise Retry("hand in something")
    return "thanks"


def test_successful_final_call_completes_and_skips_later_calls():
    env = tool_chat([Notes, submit], final=("submit",))(TASK)
    calls = [("write", {"text": "a"}), ("submit", {"text": "7"}), ("write", {"text": "b"})]
    reply = env.step(turn(*calls, errors=("not closed",)), seed=0)
    assert reply.done and reply.ending is None
    assert contents(reply) == ["written", "thanks"] and [one.status for one in reply.replies] == ["ok", "ok"]
    assert env.report() == {"replies": {"ok": 2}, "malformed": 1, "state": {"Notes": {"text": "a"}}}
    env.close()


@pytest.mark.parametrize("arguments, status", [({"text": ""}, "retry"), ({"words": "7"}, "invalid"), ({}, "invalid")])
def test_refused_final_call_ends_nothing(arguments, status):
    env = tool_chat([Notes, submit], final=("submit",))(TASK)
    reply = env.step(turn(("submit", arguments), ("write", {"text": "b"})), seed=0)
    assert not reply.done and [one.status for one in reply.replies] == [status, "ok"]
    assert env.step(turn(("submit", {"text": "7"})), seed=0).done
    env.close()
    hidden = tool_chat([Notes, submit], final=("submit",))(Task("t", TASK.messages, tools=("write",)))
    assert not hidden.step(turn(("submit", {"text": "7"})), seed=0).done
    hidden.close()


def test_argument_of_the_final_call_is_the_answer():
    says = [[ToolCall("submit", {"text": ""})], [ToolCall("submit", {"text": "7"}), ToolCall("submit", {"text": "8"})]]

    def expert(task, facts):
        return Message("assistant", "", tuple(says[facts["turn"]]))

    one = demonstrate(tool_chat([submit], final=["submit"]), TASK, expert, format=Compact())
    check(one)
    assert one.ending == Ending("completed") and len(one.turns) == 2 and len(one.replies) == 2
    assert one.messages[-1].content == "thanks" and call_argument("submit", "text")(one) == "7"


def test_unknown_final_tool_raises():
    with pytest.raises(ToolDefinitionError, match=r"final has unknown tools \['sbmit'\]"):
        tool_chat([submit], final=("sbmit",))


def test_final_call_completes_astep():
    env = tool_chat([submit], final=("submit",))(TASK)
    (reply,) = run_on_loop(env, turn(("submit", {"text": "7"}), ("submit", {"text": "8"})))
    assert reply.done and len(reply.replies) == 1


# --- images ----------------------------------------------------------------------------------------------------

FIRST, SECOND = (Image.of(np.random.default_rng(k).integers(0, 256, (8, 8, 3), np.uint8)) for k in (1, 2))
SHOWN = Task("s", (Message("system", "Look."), Message.of("user", "Which? ", FIRST, " or ", SECOND)))


@tool
def count(context: ToolContext) -> list:
    """Count the images, and show the last one mirrored."""
    last = context.images[-1]
    return [f"{len(context.images)} with ", Image.of(last.pixels[:, ::-1].copy())]


@tool
def refuse() -> str:
    """Refuse."""
    raise Retry(f"no {PLACEHOLDER}")


def test_tools_get_the_images_of_the_conversation_in_order():
    env = tool_chat([crop(), count, refuse])(SHOWN)
    assert env.start()[0] == SHOWN.messages
    reply = env.step(turn(("crop", {"box": [0, 0, 4, 4], "image": 2}), ("count", {}), ("refuse", {})), seed=0)
    part, mirrored = reply.messages[0].images[0], reply.messages[1].images[0]
    assert part == SECOND.crop((0, 0, 4, 4)) and mirrored.pixels.tolist() == part.pixels[:, ::-1].tolist()
    assert [one.images for one in reply.messages] == [one.images for one in reply.replies] == [(part,), (mirrored,), ()]
    assert contents(reply) == [PLACEHOLDER, f"3 with {PLACEHOLDER}", f"no {PLACEHOLDER}"]
    again = env.step(
        turn(("crop", {"box": [1, 0, 4, 4], "image": 3}), ("crop", {"box": [0, 0, 1, 1], "image": 9})), seed=0
    )
    assert again.replies[0].images == (part.crop((1, 0, 4, 4)),)
    assert again.replies[1].content == "there is no image 9: 5 images were shown"


def test_forks_put_the_images_of_the_conversation_back():
    factory = tool_chat([crop(), count])
    check_env(factory, SHOWN, turn=turn(("count", {}), ("count", {})))
    env = factory(SHOWN)
    states = []
    seen = []
    for k in range(3):
        states.append(env.snapshot())
        reply = env.step(turn(("crop", {"box": [0, 0, 8 - k, 8]})), seed=0)
        seen.append(env.step(turn(("count", {})), seed=0).messages)
        assert reply.messages[0].images[0].width == 8 - k
    for k, state in enumerate(states):
        other = factory(SHOWN)
        other.restore(state)
        other.step(turn(("crop", {"box": [0, 0, 8 - k, 8]})), seed=0)
        assert other.step(turn(("count", {})), seed=0).messages == seen[k]


CROP = ToolCall("crop", {"box": [0, 0, 4, 8]})


def rolled(*, task=SHOWN, context=2000, format=None):
    """A rollout that crops the first image, and then answers."""
    format = format or Compact(TinyImageProcessor(4))
    tools = [crop(), count]
    engine = ScriptedEngine(format, [CROP, "done"], tools=[one.schema for one in tools])
    attempt = Attempt(task, tool_chat(tools), format, Sampling(max_tokens=100), "t/0", 0, 0, context)
    ((one,),) = driver.run([attempt], linear(max_turns=3), engine)
    check(one)
    return one


def test_images_of_a_rollout_are_in_its_record_and_none_is_encoded(monkeypatch):
    encoded = []
    monkeypatch.setattr(Image, "_encode", lambda image: encoded.append(image))
    one = rolled()
    part = FIRST.crop((0, 0, 4, 8))
    assert one.ending.kind == "completed" and one.final_text == "done"
    assert one.images == (FIRST, SECOND, part) and one.replies[0].images == (part,)
    (row,) = one.sequences
    assert [key for _, _, key in image_spans(row.ids)] == [FIRST.key, SECOND.key, part.key]
    assert one.num_image_tokens == 4 + 4 + 2 and row.ids.dtype == np.int64
    assert row.author[row.ids == part.ids(1)[0]].tolist() == [Author.TOOL]
    assert not encoded


def test_image_reply_beyond_the_context_is_in_no_sequence():
    whole = rolled()
    shown = next(stop for start, stop, key in image_spans(whole.sequences[0].ids) if key == whole.images[2].key)
    fits = whole.turns[1].start
    assert shown < fits
    for context in (fits - 1, shown - 1):
        one = rolled(context=context)
        assert (one.ending.kind, one.ending.reason) == ("truncated", "length") and len(one.turns) == 1
        assert [key for _, _, key in image_spans(one.sequences[0].ids)] == [FIRST.key, SECOND.key]
        assert one.replies[0].images and len(one.sequences[0].ids) <= context


def greedy(budget, **options):
    """A rollout that crops the first image again and again."""
    format, tools = Compact(TinyImageProcessor(4)), [crop()]
    engine = ScriptedEngine(format, [CROP] * 6, tools=[one.schema for one in tools])
    attempt = Attempt(SHOWN, tool_chat(tools), format, Sampling(max_tokens=100), "t/0", 0, 0, 2000)
    ((one,),) = driver.run([attempt], linear(max_turns=6, budget=budget, **options), engine)
    check(one)
    return one


@pytest.mark.parametrize(
    ("budget", "turns"), [(Budget(images=2), 3), (Budget(image_tokens=5), 3), (Budget(images=0), 1), (Budget(), 6)]
)
def test_a_policy_that_asks_for_image_after_image_ends_at_its_budget(budget, turns):
    """Each result has one image of 2 tokens; the last one is in the messages and in no sequence."""
    one = greedy(budget)
    assert (one.ending.kind, one.ending.reason) == ("truncated", "budget" if turns < 6 else "turns")
    assert len(one.turns) == turns == one.usage.images == sum(len(message.images) for message in one.messages) - 2
    assert one.usage.image_tokens == 2 * (turns - 1) == one.num_image_tokens - 8


def test_the_policy_is_told_of_the_images_that_are_left():
    one = greedy(Budget(images=2, image_tokens=20), tell_budget=True)
    told = [message.content for message in one.messages if message.name == "budget"]
    assert told[0] == "You have left: 5 turns, 1 image, 18 image tokens." and "0 images, 16 image" in told[1]


def test_a_policy_without_vision_reads_the_size_of_a_tools_image():
    @tool(name="crop")
    def screenshot(box: list[int]) -> list:
        """Take a screenshot."""
        return ["shot: ", FIRST]

    engine = ScriptedEngine(Compact(), [CROP, "done"], tools=[screenshot.schema])
    attempt = Attempt(TASK, tool_chat([screenshot]), Compact(), Sampling(max_tokens=100), "t/0", 0, 0, 2000)
    ((one,),) = driver.run([attempt], linear(max_turns=3), engine)
    check(one)
    assert one.ending.kind == "completed" and one.num_image_tokens == 0 and one.images == (FIRST,)
    assert "shot: [image 8x8]" in Compact().decode(one.sequences[0].ids.tolist())
    with pytest.raises(InputError, match="has 2 images, and this chat format has no image processor"):
        rolled(format=Compact())


def test_a_rollout_without_a_record_never_encodes_an_image(monkeypatch):
    encoded = []
    monkeypatch.setattr(Image, "_encode", lambda image: encoded.append(image))
    env = tool_chat([crop(longest=16), count])(SHOWN)
    for _ in range(3):
        env.step(turn(("crop", {"box": [0, 0, 4, 4]}), ("count", {})), seed=0)
    env.snapshot()
    assert len(env.images) == 8 and not encoded
