import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import psutil
import pytest
from helpers import processes

from handaxe.cli import main
from handaxe.core.errors import InfrastructureError
from handaxe.core.records import ToolCall
from handaxe.tools.mcp import mcp

HANDAXE = [sys.executable, "-c", "import sys; from handaxe.cli import main; sys.exit(main())", "serve"]
NOTES = '''
from handaxe.tools.decorator import tool


class Notes:
    """Notes of a client."""

    def __init__(self):
        self.notes = []

    @tool
    def note(self, text: str) -> str:
        """Add a note and return all notes."""
        self.notes.append(text)
        return ", ".join(self.notes)
'''


CALCULATOR = "handaxe.tools.calculator:calculator"
TOKEN = "a-token-of-the-tests-0123456789"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def over_http(*words, env=None):
    """Address and process of `handaxe serve` over HTTP."""
    port = free_port()
    command = [*HANDAXE, CALCULATOR, "--transport", "http", "--port", str(port), *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    try:
        assert "serving handaxe" in process.stderr.readline()  # the server accepts connections now
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def status_of(url, method, **headers):
    request = urllib.request.Request(url, b"{}" if method == "POST" else None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("where", ["environment", pytest.param("file", marks=pytest.mark.slow)])
def test_http_server_with_a_token_refuses_other_clients(where, tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    words = ["--token-env", "LAB_TOKEN"] if where == "environment" else ["--token-file", str(tmp_path / "token")]
    with over_http("--host", "0.0.0.0", *words, env={"LAB_TOKEN": TOKEN}) as (url, process):
        (tool,) = mcp(url=url, headers={"Authorization": f"Bearer {TOKEN}"})()
        assert tool.run(ToolCall("calculator", {"expression": "6*7"}, "")).content == "42"
        tool.owner.close()
        for headers in ({}, {"Authorization": "Bearer another-token-of-the-tests"}):
            with pytest.raises(InfrastructureError, match="HTTP 401: the server refuses the credentials"):
                mcp(url=url, headers=headers)()
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            assert status_of(url, method) == status_of(url.removesuffix("mcp"), method) == 401
        assert status_of(url, "POST", Authorization=f"Bearer {TOKEN}") != 401
        assert TOKEN not in " ".join(psutil.Process(process.pid).cmdline())
        process.terminate()
        assert TOKEN not in process.stderr.read()


def test_http_server_without_a_token_serves_only_this_machine():
    with over_http() as (url, _):
        (tool,) = mcp(url=url)()
        assert tool.run(ToolCall("calculator", {"expression": "6*7"}, "")).content == "42"
        tool.owner.close()
        kind = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        assert status_of(url, "POST", **kind) == 400, "the server parses the request"
        assert status_of(url, "POST", **kind, Origin="http://elsewhere.example") == 403
        assert status_of(url, "POST", **kind, Host="elsewhere.example") == 421, "a foreign name of this machine"


@pytest.mark.parametrize(
    "words, message",
    [
        (["--transport", "http", "--host", "0.0.0.0"], "so a token is needed"),
        (["--transport", "http", "--host", ""], "so a token is needed"),
        (["--transport", "http", "--token-env", "NO_SUCH_TOKEN"], "NO_SUCH_TOKEN is not set"),
        (["--transport", "http", "--token-env", "EMPTY_TOKEN"], "EMPTY_TOKEN is not set"),
        (["--transport", "http", "--token-env", "SHORT_TOKEN"], "16 or more letters"),
        (["--transport", "http", "--token-file", "/no/such/file"], "cannot be read from"),
        (["--token-env", "GOOD_TOKEN", "--token-file", "/no/such/file"], "not both"),
        (["--token-env", "GOOD_TOKEN"], "a token is for http"),
    ],
)
def test_invalid_token_is_an_error(words, message, capsys, monkeypatch):
    for name, value in {"EMPTY": "", "SHORT": "sh0rt", "GOOD": TOKEN}.items():
        monkeypatch.setenv(f"{name}_TOKEN", value)
    assert main(["serve", CALCULATOR, *words]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert message in error and TOKEN not in error and "sh0rt" not in error


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_signal_ends_a_stdio_server_with_a_silent_client(number):
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with processes.start([*HANDAXE, CALCULATOR], text=True, **pipes) as process:
        try:
            process.stdin.write(hello + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == 1
            process.send_signal(number)
            assert process.wait(60) == -number
        finally:
            process.kill()


def test_policy_is_served_until_sigterm(small_model):
    openai = pytest.importorskip("openai")
    process = subprocess.Popen(
        [*HANDAXE, "--model", str(small_model), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stderr.readline()
        name, url = re.fullmatch(r"serving (\S+) at (http://127\.0\.0\.1:\d+/v1)\n", line).groups()
        with openai.OpenAI(base_url=url, api_key="any", max_retries=0) as client:
            assert [one.id for one in client.models.list()] == [name] == [small_model.name]
            messages = [{"role": "user", "content": "12*34=?"}]
            answer = client.chat.completions.create(model=name, messages=messages, max_tokens=3)
            assert answer.usage.completion_tokens <= 3
        process.terminate()
        assert process.wait(30) in (0, -15) and "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize(
    "words, message",
    [
        (["--model", "MODEL", CALCULATOR], "clients supply the tools"),
        (["--model", "MODEL", "--host", "0.0.0.0"], "so a token is needed"),
        (["--model", "MODEL", "--port", "99999"], "port 99999 is not valid"),
        (["--model", "MODEL", "--max-tokens", "0"], "--max-tokens is 0"),
        (["--model", "MODEL", "--device", "gpu"], "device 'gpu' is unknown; give cpu, cuda or cuda:1"),
    ],
)
def test_wrong_arguments_for_a_policy_are_an_error(words, message, small_model, capsys):
    assert main(["serve", *(str(small_model) if word == "MODEL" else word for word in words)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_tools_of_the_library_and_of_the_current_folder_are_served(tmp_path):
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
        (["no_such_module:a"], "there is no tool 'no_such_module:a'"),
        (["handaxe.tools.calculator:nothing"], "there is no"),
        (["handaxe.tools.calculator:MAX_BITS"], "13000 is no tool"),
    ],
)
def test_wrong_tools_are_an_error(words, message, capsys):
    assert main(["serve", *words]) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(("port", "transport", "least"), [(0, "stdio", 1), (-1, "http", 0), (99999, "http", 0)])
def test_port_out_of_range_is_one_line(port, transport, least, capsys):
    assert main(["serve", CALCULATOR, "--transport", transport, "--port", str(port)]) == 2
    assert capsys.readouterr().err == f"error: --port is {port}; give {least} to 65535\n"


def test_the_end_of_stdin_stops_no_stdio_server(capsys):
    assert main(["serve", CALCULATOR, "--until-eof"]) == 2
    assert "--until-eof is for --transport http" in capsys.readouterr().err


def test_port_in_use_and_unknown_host_are_one_line(capsys, monkeypatch):
    monkeypatch.setenv("GOOD_TOKEN", TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", CALCULATOR, "--transport", "http", "--port", port]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"error: cannot listen at 127.0.0.1 port {port}: ") and line.count("\n") == 1
    words = ["--transport", "http", "--host", "no.such.host.invalid", "--token-env", "GOOD_TOKEN"]
    assert main(["serve", CALCULATOR, *words]) == 2
    assert capsys.readouterr().err.startswith("error: cannot listen at no.such.host.invalid port 8000: ")
