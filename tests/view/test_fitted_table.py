import io
import re

import pytest
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.text import Text

from handaxe.view.fitted_table import FittedTable


def table(words="a few words", *, style=""):
    made = FittedTable(title=Text("figures [red]"), box=SIMPLE_HEAD, title_justify="left", caption="note")
    made.add_column("name", no_wrap=True)
    made.add_column("long heading", justify="right")
    made.add_column("mean", justify="right")
    made.add_column("about")
    made.add_row(Text("first"), "12,345.678", "0.5", Text(words), style=style)
    made.add_row("second", "-1", "", "")
    return made


def shown(made, width, **more):
    console = Console(width=width, file=io.StringIO(), **more)
    console.print(made)
    return console.file.getvalue()


def test_table_that_fits_is_a_table():
    lines = shown(table(), 60).splitlines()
    assert re.search("name +long heading +mean +about", lines[2]) and "12,345.678" in lines[4]


def test_narrow_terminal_shows_a_block_per_row():
    text = shown(table(), 45)
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines == [
        "figures [red]",
        "",
        "name first",
        "  long heading  12,345.678",
        "  mean          0.5",
        "  about         a few words",
        "",
        "name second",
        "  long heading  -1",
        "",
        "note",
        "",
    ]


def test_column_of_words_wraps_before_blocks_appear():
    words = "some words " * 8
    assert "name first" not in shown(table(words), 70)
    assert "name first" in shown(table(words), 56)
    block = shown(table(words), 30)
    assert max(map(len, block.splitlines())) <= 30 and block.count("words") == 8


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_every_figure_is_whole_from_30_characters_on(width):
    text = shown(table(), width)
    assert all(re.search(rf"(^| ){re.escape(one)} *", text, re.MULTILINE) for one in ("12,345.678", "0.5", "-1"))
    assert "\u2026" not in text


def test_style_of_a_row_is_kept():
    text = shown(table(style="red"), 30, force_terminal=True, color_system="standard")
    assert "\x1b[31m0.5" in text
