import pytest

from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolCall, ToolReply
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.testing.tools import check_env, check_no_leak, check_tool
from handaxe.tools import tool
from handaxe.tools.calculator import calculator
from handaxe.tools.compute import compute
from handaxe.tools.python import python

TASK = Task("t", (Message("user", "?"),))


@pytest.mark.parametrize(
    "tool, arguments, content",
    [
        (calculator, {"expression": "6*7"}, "42"),
        (compute, {"left": 6, "operator": "*", "right": 7}, "42"),
        (python(), {"code": "6*7"}, "42"),
    ],
)
def test_tools_keep_the_contract(tool, arguments, content):
    assert check_tool(tool, arguments=arguments).content == content


def test_failing_tool_raises():
    @tool
    def broken(text: str) -> str:
        """Break."""
        raise ValueError(text)

    with pytest.raises(AssertionError, match="expected status 'ok', got 'infra_error'"):
        check_tool(broken, arguments={"text": "a"})


class Faulty:
    """Environment that keeps the contract, except for overridden methods."""

    def __init__(self, task):
        self.count = 0

    def start(self):
        return TASK.messages, (calculator.schema,)

    def step(self, turn, *, seed):
        self.count += 1
        replies = tuple(ToolReply(call.id, call.name, "no", "invalid") for call in turn.calls)
        return EnvReply((Message("tool", "no"),), replies, done=not turn.calls)

    def report(self):
        return {"count": self.count}

    def snapshot(self):
        return self.count

    def restore(self, state):
        self.count = state

    def close(self): ...


def test_broken_environments_raise():
    check_env(Faulty, TASK)

    class Silent(Faulty):
        def step(self, turn, *, seed):
            return EnvReply()

    class Wild(Faulty):
        def step(self, turn, *, seed):
            return EnvReply((), (ToolReply("other", "x", "", "invalid"),), done=True)

    class Executes(Faulty):
        def step(self, turn, *, seed):
            return EnvReply((Message("tool", ""),), tuple(ToolReply(c.id, c.name, "") for c in turn.calls))

    class Blames(Faulty):
        def step(self, turn, *, seed):
            return EnvReply(done=True, ending=Ending("infra_error", "no such tool"))

    class Forgets(Faulty):
        def restore(self, state): ...

    class Opaque(Faulty):
        def report(self):
            return {"x": object()}

    class Twice(Faulty):
        def start(self):
            return TASK.messages, (calculator.schema, calculator.schema)

    class Mute(Faulty):
        def start(self):
            return (), ()

    faults = {
        Silent: "without a message",
        Wild: "a call that was not made",
        Executes: "expected status 'invalid', got 'ok'",
        Blames: "it ended as",
        Forgets: "differs after restoring",
        Twice: "of one name",
        Mute: "without a message",
    }
    for env, message in faults.items():
        with pytest.raises(AssertionError, match=message):
            check_env(env, TASK)
    with pytest.raises(TypeError, match="JSON"):
        check_env(Opaque, TASK)


def test_leak_raises():
    shared = []

    class Leaky:
        @tool
        def write(self, text: str) -> str:
            """Write."""
            shared.append(text)
            return ""

        @tool
        def read(self) -> list[str]:
            """Read."""
            return shared

    def turn(name, **arguments):
        return ParsedTurn("", (ToolCall(name, arguments, "c0"),))

    with pytest.raises(AssertionError, match="a parallel one can read"):
        check_no_leak(tool_chat([Leaky]), TASK, write=lambda n: turn("write", text=n), read=turn("read"))
    with pytest.raises(AssertionError, match="nothing is checked"):
        check_no_leak(tool_chat([Leaky]), TASK, write=lambda n: turn("read"), read=turn("nothing"))
