from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.sit_graph.advised_env import ANSWER, ToolStep, advised_env, summarize_state
from handaxe.tools.decorator import tool

TASK = Task("t", (Message("user", "cancel order 7"),))


@tool(timeout=None)
def look(order: int) -> str:
    """Look at an order."""
    return f"pending {order}"


def opened(adviser):
    return advised_env(tool_chat([look, summarize_state]), adviser)(TASK)


def call(name, **arguments):
    return ParsedTurn("", (ToolCall(name, arguments, "0-0"),))


def test_suggestions_follow_each_reply_and_a_summary_stays_until_the_next_step():
    asked = []

    def adviser(task, steps, summary):
        asked.append((list(steps), summary))
        return ["cancel", "answer"][: len(steps) + 1] if summary or not steps else []

    env = opened(adviser)
    messages, _ = env.start()
    assert [(one.content, one.name) for one in messages] == [("cancel order 7", ""), ("next cancel", "memory")]
    first = env.step(call("look", order=7), seed=0)
    assert [one.content for one in first.messages] == ["pending 7"] and first.facts["advice"] == []
    second = env.step(call("summarize_state", summary="pending"), seed=0)
    assert [one.content for one in second.messages] == ["noted", "next cancel answer"]
    assert second.facts["summary"] == "pending" and second.facts["reply"] == "pending 7"
    third = env.step(call("look", order=8), seed=0)
    assert third.facts["steps"] == [["look", ""], ["look", "pending"]] and third.facts["summary"] == ""
    last = env.step(ParsedTurn("done"), seed=0)
    assert last.done and last.facts["steps"][-1] == [ANSWER, ""] and last.facts["made"] == ["look", "look", ANSWER]
    assert asked[2] == ([ToolStep("look")], "pending")
    env.close()


def test_a_snapshot_restores_the_steps():
    env = opened(lambda task, steps, summary: ())
    env.start()
    env.step(call("look", order=7), seed=0)
    state = env.snapshot()
    env.step(call("summarize_state", summary="x"), seed=0)
    env.restore(state)
    assert env.step(call("look", order=9), seed=0).facts["steps"] == [["look", ""], ["look", ""]]
    env.close()
