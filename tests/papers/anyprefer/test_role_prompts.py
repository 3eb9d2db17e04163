from handaxe.papers.anyprefer.role_prompts import RolePrompts, name_next_tool, named_tools, tool_names
from handaxe.tools.calculator import calculator

TOOLS = ["calculator", "search"]


def test_names_of_tools_keep_their_order():
    assert tool_names([calculator]) == ["calculator"] and tool_names([]) == []


def test_named_tools_are_words_of_the_prompt():
    assert named_tools("Use search. Use calculator.", TOOLS) == ("calculator", "search")
    assert named_tools("Do research.", TOOLS) == () and named_tools("", TOOLS) == ()


def test_feedback_names_the_next_tool_in_both_prompts():
    reflect = name_next_tool(tools=TOOLS)
    first = RolePrompts("Use calculator.", "")
    assert reflect(first, []) == first
    second = reflect(first, ["best and worst answer differ by 0.10, below 0.50"])
    assert second == ("Use calculator. Use search.", "Use calculator.")
    assert reflect(second, ["again"]) == ("Use calculator. Use search.", "Use calculator. Use search.")
    assert reflect(reflect(second, ["again"]), ["more"]) == reflect(second, ["again"])
