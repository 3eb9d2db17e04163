import os
import random
import signal
import subprocess
import sys

import pytest

from handaxe.tools.mcp_relay import MessageLines, TooLongError
from handaxe.tools.mcp_stdio import RELAY


def expected_lines(text):
    """Keep the complete lines that begin with "{"."""
    return b"".join(line.lstrip(b" \t\r") + b"\n" for line in text.split(b"\n")[:-1] if line.lstrip()[:1] == b"{")


def test_passed_lines_do_not_depend_on_chunks():
    draw = random.Random(0)
    for _ in range(300):
        text = b"".join(draw.choice([b"{a}", b"{", b"x{", b" ", b"\t", b"\n", b"\n"]) for _ in range(30)) + b"\n"
        lines, out, rest = MessageLines(1000), b"", text
        while rest:
            size = draw.randint(1, 8)
            out, rest = out + lines.take(rest[:size]), rest[size:]
        assert out == expected_lines(text)


def test_first_noise_is_stored_and_cut():
    lines = MessageLines(1000)
    assert lines.take(b"\n {}\n  starting up ...\nagain" + b"y" * 500 + b"\n") == b"{}\n"
    assert lines.noise == b"starting up ..."
    lines = MessageLines(1000)
    lines.take(b"y" * 500)
    assert lines.noise == b"y" * 200


@pytest.mark.parametrize("sign", [b"{", b"y", b" "])
def test_lines_of_both_kinds_have_a_limit(sign):
    lines = MessageLines(10)
    for _ in range(3):
        lines.take(sign * 10 + b"\n")
    lines.take(sign * 6)
    with pytest.raises(TooLongError):
        lines.take(sign * 5)


def relay(program, folder="/nonexistent"):
    command = [sys.executable, "-I", "-S", RELAY, "1000", str(folder), sys.executable, "-c", program]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


def test_session_folder_is_deleted_at_the_end(tmp_path):
    folder = tmp_path / "session"
    folder.mkdir()
    (folder / "file").write_text("left by the server")
    with relay("input()", folder) as process:
        process.communicate(timeout=60)
    assert not folder.exists() and tmp_path.exists()


def test_server_has_default_signals_and_relay_survives_them():
    text = "import signal; print('{', signal.getsignal(15) is signal.SIG_DFL, flush=True); input()"
    with relay(text) as process:
        assert process.stdout.readline() == b"{ True\n"
        os.killpg(process.pid, signal.SIGTERM)
        said, report = process.communicate(timeout=60)
    assert said == b"" and b'"status": -15' in report
    assert process.returncode == -signal.SIGKILL, "the group ends last, and the relay with it"
