import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.worlds.toolbox.box import BriefBox, ToolBox
from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue
from handaxe.worlds.toolbox.catalogue import full_catalogue, stub_value
from handaxe.worlds.toolbox.questions import make_step

QUERY = "area of a triangle given its base and height"
AREA = make_step(
    "calculate_triangle_area",
    "calculate_triangle_area",
    "simple_python",
    {"base": [10], "height": [5], "unit": ["units", ""]},
    {"base": 10, "height": 5},
    QUERY,
)


def call(called, /, **arguments):
    return ToolCall(called, arguments, "c0")


def box():
    return ToolBox(full_catalogue(), [AREA], results=3)


def test_find_tools_lists_schemas_and_marks_the_step():
    made = box()
    reply = made.find_tools.run(call("find_tools", query=QUERY))
    assert reply.status == "ok" and len(reply.content.splitlines()) == 3
    assert '"name":"calculate_triangle_area"' in reply.content and '"type":"object"' in reply.content
    assert made.report() == {"found": [True], "made": [False]}
    longer = made.find_tools.run(call("find_tools", query=QUERY, count=99)).content
    assert len(longer.splitlines()) == 20


def test_accepted_calls_return_the_result_of_the_step_and_other_calls_their_digest():
    made = box()
    other = {"base": 10, "height": 6}
    said = made.call_tool.run(call("call_tool", name="calculate_triangle_area", arguments=other))
    assert said.content == str(stub_value("calculate_triangle_area", other)) and made.report()["made"] == [False]
    for arguments in ({"base": 10, "height": 5}, {"base": 10, "height": 5, "unit": "units"}):
        said = made.call_tool.run(call("call_tool", name="calculate_triangle_area", arguments=arguments))
        assert said.content == str(AREA["value"])
    assert made.report()["made"] == [True]


@pytest.mark.parametrize(
    "wrong, message",
    [
        (call("call_tool", name="no_such", arguments={}), "there is no tool 'no_such'"),
        (call("call_tool", name="calculate_triangle_area", arguments={"base": 10}), "'height' is a required property"),
        (call("call_tool", name="calculate_triangle_area", arguments=[10]), "invalid arguments for call_tool"),
        (call("find_tools", query=" "), "give words"),
        (call("find_tools", query="x" * 501), "501 characters"),
        (call("find_tools", query="xyzzyq"), "no tool has a word"),
    ],
)
def test_faults_of_the_policy_are_replies(wrong, message):
    made = box()
    reply = getattr(made, wrong.name).run(wrong)
    assert reply.status in ("retry", "invalid") and message in reply.content
    assert made.report() == {"found": [False], "made": [False]}


def test_the_brief_search_has_one_parameter_and_short_lines():
    catalogue = brief_catalogue()
    entry = next(iter(catalogue.entries.values()))
    made = BriefBox(catalogue, [], results=1)
    assert list(made.find_tools.schema.parameters["properties"]) == ["query"]
    assert made.find_tools.run(call("find_tools", query=entry.text)).content == entry.shown


def test_a_snapshot_restores_the_state():
    made = box()
    before = made.snapshot()
    made.find_tools.run(call("find_tools", query=QUERY))
    after = made.snapshot()
    made.restore(before)
    assert made.report() == {"found": [False], "made": [False]}
    made.restore(after)
    assert made.report() == {"found": [True], "made": [False]}


class _Lost:
    """Catalogue without its index."""

    def find(self, query, count):
        raise OSError("the index is gone")


def test_a_lost_index_ends_the_rollout_as_infra_error():
    env = tool_chat([lambda: ToolBox(_Lost(), [AREA], results=3)])(Task("t", (Message("user", "?"),)))
    env.start()
    reply = env.step(ParsedTurn("", (call("find_tools", query="area"),)), seed=0)
    assert reply.done and reply.ending.kind == "infra_error" and "the index is gone" in reply.ending.reason
