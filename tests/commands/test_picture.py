import io
from xml.etree import ElementTree

import pytest
from rich.console import Console

from handaxe.commands.picture import picture
from handaxe.core.errors import InputError


def test_picture_has_the_output_and_fetches_nothing(tmp_path):
    shown, file = io.StringIO(), tmp_path / "out.svg"
    with picture(Console(file=shown), file, title="handaxe") as terminal:
        terminal.print("five[red]teen[/red]")
    assert "fifteen" not in shown.getvalue() and "five" in shown.getvalue()
    text = file.read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg") and "teen" in text and "font-face" not in text


def test_picture_without_a_file_gives_the_same_terminal(tmp_path):
    before = Console(file=io.StringIO())
    with picture(before, None, title="handaxe") as terminal:
        assert terminal is before


def test_file_that_cannot_be_written_is_named(tmp_path):
    with (
        pytest.raises(InputError, match=r"none.out\.svg cannot be written"),
        picture(Console(file=io.StringIO()), tmp_path / "none" / "out.svg", title="handaxe") as terminal,
    ):
        terminal.print("x")
