import os
import random
import signal
import subprocess
import sys

import pytest

from handaxe.tools.mcp_relay import Lines, TooLongError
from handaxe.tools.mcp_stdio import RELAY


def slow(text):
    """The whole lines of a text that begin with "{"."""
    return b"".join(line.lstrip(b" \t\r") + b"\n" for line in text.split(b"\n")[:-1] if line.lstrip()[:1] == b"{")


def test_what_goes_on_does_not_depend_on_how_it_is_cut():
    draw = random.Random(0)
    for _ in range(300):
        text = b"".join(draw.choice([b"{a}", b"{", b"x{", b" ", b"\t", b"\n", b"\n"]) for _ in range(30)) + b"\n"
        lines, out, rest = Lines(1000), b"", text
        while rest:
            size = draw.randint(1, 8)
            out, rest = out + lines.take(rest[:size]), rest[size:]
        assert out == slow(text)


def test_the_first_noise_is_kept_and_cut():
    lines = Lines(1000)
    assert lines.take(b"\n {}\n  starting up ...\nagain" + b"y" * 500 + b"\n") == b"{}\n"
    assert lines.noise == b"starting up ..."
    lines = Lines(1000)
    lines.take(b"y" * 500)
    assert lines.noise == b"y" * 200


@pytest.mark.parametrize("sign", [b"{", b"y", b" "])
def test_a_line_of_any_kind_has_a_limit(sign):
    lines = Lines(10)
    for _ in range(3):
        lines.take(sign * 10 + b"\n")
    lines.take(sign * 6)
    with pytest.raises(TooLongError):
        lines.take(sign * 5)


def relay(program):
    command = [sys.executable, "-I", "-S", RELAY, "1000", sys.executable, "-c", program]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


def test_a_server_keeps_the_usual_signals_and_the_relay_outlives_them():
    text = "import signal; print('{', signal.getsignal(15) is signal.SIG_DFL, flush=True); input()"
    with relay(text) as process:
        assert process.stdout.readline() == b"{ True\n"
        os.killpg(process.pid, signal.SIGTERM)
        said, report = process.communicate(timeout=60)
    assert said == b"" and b'"status": -15' in report
    assert process.returncode == -signal.SIGKILL, "the group ends last, and the relay with it"
