import re
import sys

import pytest

from handaxe.cli import main
from handaxe.records import ToolCall
from handaxe.tools.mcp import mcp

HANDAXE = [sys.executable, "-c", "import sys; from handaxe.cli import main; sys.exit(main())", "serve"]
NOTES = '''
from handaxe.tools.decorator import tool


class Notes:
    """Notes of one client."""

    def __init__(self):
        self.notes = []

    @tool
    def note(self, text: str) -> str:
        """Write down and read all."""
        self.notes.append(text)
        return ", ".join(self.notes)
'''


def test_tools_of_the_library_and_of_the_current_folder(tmp_path):
    (tmp_path / "my_notes.py").write_text(NOTES)
    command = [*HANDAXE, "my_notes:Notes", "handaxe.tools.calculator:calculator", "--name", "lab"]
    tools = mcp(command=command, cwd=tmp_path)()
    note, calculator = tools
    assert [note.run(ToolCall("note", {"text": text}, "")).content for text in "ab"] == ["a", "a, b"]
    assert calculator.run(ToolCall("calculator", {"expression": "6*7"}, "")).content == "42"
    tools[0].owner.close()


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "name at least one tool"),
        (["calculator"], "write MODULE:ATTRIBUTE"),
        (["no_such_module:a"], "there is no 'no_such_module:a'"),
        (["handaxe.tools.calculator:nothing"], "there is no"),
        (["handaxe.tools.calculator:MAX_BITS"], "13000 is no tool"),
    ],
)
def test_what_cannot_be_served_is_wrong_input(words, message, capsys):
    assert main(["serve", *words]) == 2
    assert re.search(message, capsys.readouterr().err)
