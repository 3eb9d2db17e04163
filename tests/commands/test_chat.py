"""`handaxe chat`: a single question, a conversation, and output in a pseudo-terminal."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from helpers import processes

from handaxe.cli import main
from handaxe.commands import chat

MINE = r'''import time

from handaxe.tools import tool


@tool
def calculator(expression: str) -> str:
    """Return control sequences of terminals.

    Args:
        expression: of numbers.
    """
    if expression == "12*34":
        return "\x1b[31m408\x1b]0;title\x07 [bold]\nnext \u202eline"
    if expression == "99-98":
        time.sleep(600)
    return "7"
'''
HOSTILE = "\\x1b[31m408\\x1b]0;title\\x07 [bold]\\nnext \\u202eline"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    (tmp_path / "chat_tools.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)


def test_single_question_prints_only_the_answer_to_stdout(capsys):
    assert main(["chat", "tiny", "12*34=?", "--tools", "calculator"]) == 0
    streams = capsys.readouterr()
    assert streams.out == "408\n"
    assert '-> calculator(expression="12*34")' in streams.err and "<- 408" in streams.err


def test_question_is_read_from_a_pipe(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("12*34=?\n"))
    assert main(["chat", "tiny", "--tools", "calculator"]) == 0
    assert capsys.readouterr().out == "408\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert main(["chat", "tiny", "--tools", "calculator"]) == 2
    assert "the question is empty" in capsys.readouterr().err


def test_truncated_answer_is_reported_with_exit_code_1(capsys):
    assert main(["chat", "tiny", "12*34=?", "--tools", "calculator", "--max-tokens", "2"]) == 1
    assert "truncated" in capsys.readouterr().err


def test_run_of_a_method_needs_only_its_folder(finished, capsys, monkeypatch):
    code = main(["chat", str(finished), "1+1=?"])
    assert code in (0, 1) and "error" not in capsys.readouterr().err
    monkeypatch.setattr("builtins.input", lambda prompt: "/quit")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["chat", str(finished)]) == 0 and "trained on single questions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tiny", "x"], "the tools are unknown: name them, tools=[calculator] or --tools calculator"),
        (["tiny", "x", "--tools", "hammer"], "there is no tool 'hammer'"),
        (["tiny", "x", "--tools", "none", "--max-turns", "0"], "max_turns is 0"),
        (["tiny", "x", "--tools", "none", "--device", "gpu"], "device 'gpu' is unknown; give cpu, cuda or cuda:1"),
    ],
)
def test_wrong_input_is_one_line(words, message, capsys):
    assert main(["chat", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_conversation_handles_every_input(capsys, monkeypatch):
    typed = iter(["12*34=?", "", KeyboardInterrupt(), "/what", "/new", "x" * 3000, EOFError()])

    def read(prompt):
        text = next(typed)
        if isinstance(text, BaseException):
            raise text
        return text

    monkeypatch.setattr("builtins.input", read)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["chat", "tiny", "--tools", "chat_tools:calculator"]) == 0
    text = capsys.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text) and HOSTILE in text
    assert "Ctrl-D quits" in text and "a new conversation" in text and text.count(chat.HELP) == 2
    assert "truncated" in text, "a question longer than the context"


def test_single_starts_a_new_conversation_for_every_question(capsys, monkeypatch):
    typed = iter(["12*34=?", "12*34=?"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed, "/quit"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["chat", "tiny", "--tools", "calculator", "--single"]) == 0
    assert capsys.readouterr().out.count("<- 408") == 2


class Terminal:
    """Program in a pseudo-terminal of 80 columns."""

    def __init__(self, *words):
        self.main, side = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
        self.child = subprocess.Popen(words, stdin=side, stdout=side, stderr=side, start_new_session=True,
                                      env=environment, preexec_fn=lambda: _take(side))  # fmt: skip
        os.close(side)
        self.text = ""

    def until(self, words, seconds=60):
        """Read until the terminal shows the words; returns the text up to them."""
        end = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < end, f"{words!r} is not in {self.text!r}"
            if select.select([self.main], [], [], 1.0)[0]:
                self.text += os.read(self.main, 65536).decode(errors="replace")
        before, _, self.text = self.text.partition(words)
        return before + words

    def type(self, text):
        os.write(self.main, text.encode())


def _take(side):
    """Make it the controlling terminal of the new session, which then gets Ctrl-C."""
    import fcntl
    import termios

    processes.restore_sigint()
    fcntl.ioctl(side, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_terminal_shows_calls_before_replies_and_ctrl_c_stops_only_the_answer():
    shell = Terminal(sys.executable, "-m", "handaxe", "chat", "tiny", "--tools", "chat_tools:calculator")
    try:
        shell.until("> ")
        shell.type("12*34=?\n")
        seen = shell.until("\n> ")
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)
        assert HOSTILE in plain and "\x1b]0;title" not in seen and "\u202e" not in seen
        shell.type("/new\n99-98=?\n")
        shell.until('expression="99-98"')
        shell.type("\x03")
        shell.until("stopped")
        shell.until("> ")
        shell.type("\x04")
        assert shell.child.wait(60) == 0
    finally:
        shell.child.kill()
        shell.child.wait()
        os.close(shell.main)
