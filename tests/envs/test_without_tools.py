from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.without_tools import without_tools
from handaxe.tools.calculator import calculator


def test_no_tool_is_offered_and_calls_are_unknown():
    for tools in (None, ("calculator",)):
        task = Task("t", (Message("user", "1+1=?"),), "2", tools=tools)
        env = without_tools(tool_chat([calculator]))(task)
        assert env.start() == (task.messages, ())
        reply = env.step(ParsedTurn("", (ToolCall("calculator", {"expression": "1+1"}, "c0"),)), seed=0)
        assert [one.status for one in reply.replies] == ["invalid"] and not reply.done
        assert env.step(ParsedTurn("2"), seed=0).done
        env.close()
