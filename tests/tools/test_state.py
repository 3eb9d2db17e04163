import pytest

from handaxe.errors import ToolDefinitionError
from handaxe.tools import tool
from handaxe.tools.state import Closes, Forks, Reports, tools_of


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
