from functools import partial

import pytest

from handaxe.core.errors import ToolDefinitionError
from handaxe.tools import tool
from handaxe.tools.calculator import calculator
from handaxe.tools.tool_owners import (
    SupportsClose,
    SupportsFork,
    SupportsReport,
    collect_tools,
    flatten_sources,
    import_path,
)


class Base:
    @tool
    def read(self) -> str:
        """Read."""
        return "base"

    @tool
    def drop(self) -> str:
        """Drop."""
        return ""


class Notes(Base):
    @tool
    def write(self) -> str:
        """Write."""
        return ""

    @tool
    def read(self) -> str:
        """Read again."""
        return "notes"

    drop = None

    def close(self): ...


def test_collect_tools_binds_methods_in_order():
    notes = Notes()
    found = collect_tools(notes)
    assert [t.schema.name for t in found] == ["read", "write"]
    assert all(t.owner is notes for t in found)
    assert found[0]() == "notes"
    assert [t.schema.name for t in collect_tools([Base(), notes.write])] == ["read", "drop", "write"]


def test_protocols_are_detected():
    notes = Notes()
    assert isinstance(notes, SupportsClose)
    assert not isinstance(notes, SupportsFork) and not isinstance(notes, SupportsReport)


@pytest.mark.parametrize("made", [object(), 3, "calculator", None])
def test_object_without_tools_raises(made):
    with pytest.raises(ToolDefinitionError, match="has no tool"):
        collect_tools(made)


def test_flatten_sources_keeps_order():
    make = partial(pow, 2, 3)
    assert flatten_sources([], whose="rollouts") == []
    assert flatten_sources([[Notes, calculator], (make, [], [Base])], whose="rollouts") == [
        Notes,
        calculator,
        make,
        Base,
    ]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("calculator", "tools: 'calculator' is no tool: pass a tool, a list"),
        ([calculator, object()], "tools[1]: <object object"),
        (
            [Notes()],
            "is no tool: pass a tool, a list of tools, or a class or function without arguments that makes tools",
        ),
        ([Notes.write], "tools[0] is <tool write>, a method: its state would leak between clients"),
        ([[Notes().write]], "tools[0][0] is <tool write of Notes>, a method"),
        ([partial(divmod)], "tools[0] is functools:partial, which needs arguments (x, y)"),
        ([lambda a, *b, c, d=1, **e: None], "test_tool_owners:<lambda>, which needs arguments (a, c)"),
    ],
)
def test_invalid_entry_raises_with_its_position(tools, said):
    with pytest.raises(ToolDefinitionError) as caught:
        flatten_sources(tools, whose="clients")
    assert said in str(caught.value)


def test_import_path_is_module_and_attribute():
    assert import_path(collect_tools) == "handaxe.tools.tool_owners:collect_tools" and import_path(Notes).endswith(
        "test_tool_owners:Notes"
    )
