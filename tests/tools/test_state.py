from functools import partial

import pytest

from handaxe.core.errors import ToolDefinitionError
from handaxe.tools import tool
from handaxe.tools.calculator import calculator
from handaxe.tools.state import Closes, Forks, Reports, address_of, entries_of, tools_of


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


def test_the_tools_of_an_object_come_in_order_and_bound():
    notes = Notes()
    found = tools_of(notes)
    assert [t.schema.name for t in found] == ["read", "write"]
    assert all(t.owner is notes for t in found)
    assert found[0]() == "notes"
    assert [t.schema.name for t in tools_of([Base(), notes.write])] == ["read", "drop", "write"]


def test_what_an_object_can_do():
    notes = Notes()
    assert isinstance(notes, Closes)
    assert not isinstance(notes, Forks) and not isinstance(notes, Reports)


@pytest.mark.parametrize("made", [object(), 3, "calculator", None])
def test_nothing_that_is_a_tool(made):
    with pytest.raises(ToolDefinitionError, match="has no tool"):
        tools_of(made)


def test_entries_are_opened_in_order():
    make = partial(pow, 2, 3)
    assert entries_of([], whose="rollouts") == []
    assert entries_of([[Notes, calculator], (make, [], [Base])], whose="rollouts") == [Notes, calculator, make, Base]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("calculator", "tools: 'calculator' is no tool: pass a tool, a list"),
        ([calculator, object()], "tools[1]: <object object"),
        ([Notes()], "is no tool: pass a tool, a list of tools, or a class or function that makes"),
        ([Notes.write], "tools[0] is <tool write>, a method: its state would leak between clients"),
        ([[Notes().write]], "tools[0][0] is <tool write of Notes>, a method"),
        ([partial(divmod)], "tools[0] is functools:partial, which needs arguments (x, y)"),
        ([lambda a, *b, c, d=1, **e: None], "test_state:<lambda>, which needs arguments (a, c)"),
    ],
)
def test_what_is_no_entry(tools, said):
    with pytest.raises(ToolDefinitionError) as caught:
        entries_of(tools, whose="clients")
    assert said in str(caught.value)


def test_an_address():
    assert address_of(tools_of) == "handaxe.tools.state:tools_of" and address_of(Notes).endswith("test_state:Notes")
