from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.testing.make_records import make_task
from handaxe.tools.compute import compute
from handaxe.worlds.parts.single_turn import single_turn


def test_single_turn_offers_tools_and_ends_without_executing_a_call():
    env = single_turn([compute])(make_task())
    assert [schema.name for schema in env.start()[1]] == ["compute"]
    call = ToolCall("compute", {"left": 1, "operator": "+", "right": 2}, "t0c0")
    reply = env.step(ParsedTurn("", (call,)), seed=0)
    assert reply.done and not reply.replies
