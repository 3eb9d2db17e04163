import pytest

from handaxe.core.errors import Retry
from handaxe.core.records import ToolCall
from handaxe.papers.ftrl.toolchains_tools import RELATIONS, generate_tools, tool_call
from handaxe.worlds.hops.knowledge_base import build_facts

KNOWN = build_facts(seed=0, size=40, distractors=0, relations=RELATIONS)
NAME = KNOWN.halves[0][0]


@pytest.mark.parametrize("merged", [1, 2, 3])
@pytest.mark.parametrize("optional", [False, True])
def test_tool_call_finds_every_fact(merged, optional):
    tools = {tool.schema.name: tool for tool in generate_tools(KNOWN, merged=merged, optional=optional)}
    assert len(tools) == 12 // merged
    for relation in RELATIONS:
        call = tool_call(relation, NAME, merged=merged)
        fact = KNOWN.facts[NAME, relation]
        assert tools[call["name"]].run(ToolCall(call["name"], call["arguments"])).content == fact
        if optional:
            loud = ToolCall(call["name"], {**call["arguments"], "case": "upper"})
            assert tools[call["name"]].run(loud).content == fact.upper()


def test_schemas_describe_the_parameters():
    one = generate_tools(KNOWN, merged=2, optional=True)[0].schema
    assert one.name == "ally_or_aunt" and one.description == "Look up the ally or aunt of a person."
    assert list(one.parameters["properties"]) == ["kind", "name", "case"]
    assert one.parameters["required"] == ["kind", "name"]
    assert list(generate_tools(KNOWN, merged=1, optional=False)[0].schema.parameters["properties"]) == ["name"]


def test_unknown_names_are_status_retry():
    boss = next(tool for tool in generate_tools(KNOWN, merged=1, optional=False) if tool.schema.name == "boss")
    with pytest.raises(Retry, match="no boss of 'nobody'"):
        boss("nobody")
    assert boss(f" {NAME.upper()} ") == KNOWN.facts[NAME, "boss"]
