import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from handaxe.core.escape import escape
from handaxe.view.escape_markup import add_untrusted, escaped_text, shorten

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_examples_of_the_documentation_hold():
    assert escape("a\x1b[31mb\tc") == "a\\x1b[31mb\\tc"
    assert shorten("abcdefghijklmnopqrstuvwxyz0123456789abcdefgh", 40) == "abcdefghi [.. 25 left out ..] 89abcdefgh"


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("user\u202egpj.exe", "user\\u202egpj.exe"),
        ("a\u200bb\ufeffc", "a\\u200bb\\ufeffc"),
        ("over\rwritten\x08\x7f", "over\\rwritten\\x08\\x7f"),
        ("\u2028line\ud800", "\\u2028line\\ud800"),
        ("[bold red]x[/] :smile: <script>", "[bold red]x[/] :smile: <script>"),
        ("caf\u00e9 \u65e5\u672c", "caf\u00e9 \u65e5\u672c"),
    ],
)
def test_escape_shows_control_characters(hostile, shown):
    assert escape(hostile) == shown


@given(st.text(st.characters(), max_size=40))
def test_escaped_text_has_no_control_characters(text):
    shown = escape(text, keep="\n")
    assert all(unicodedata.category(c) not in UNSEEN for c in shown if c != "\n")
    line = Text()
    add_untrusted(line, text)
    assert all(unicodedata.category(c) not in UNSEEN for c in line.plain if c != "\n")
    assert line.plain.replace("\\n\n", "\\n") == escape(text)


@given(st.text(max_size=80), st.integers(0, 60))
def test_shorten_keeps_the_limit(text, max_chars):
    short = shorten(text, max_chars)
    assert len(short) <= max(max_chars, 0) or short == text
    assert shorten(text, len(text)) == text


def test_escaped_text_prints_markup_and_codes_as_text(capsys):
    Console(force_terminal=True).print(escaped_text("[red]a[/red]\x1b[2J", style="bold"))
    assert "[red]a[/red]\\x1b[2J" in capsys.readouterr().out


def test_escaped_characters_are_highlighted():
    line = Text()
    add_untrusted(line, "a\x07b\nc", style="yellow")
    assert line.plain == "a\\x07b\\n\nc"
    assert [str(s.style) for s in line.spans] == ["yellow", "yellow reverse", "yellow", "yellow reverse", "yellow"]
