"""The scripts and the pages about MCP and chat servers do what they say."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from handaxe.engines.openai_compatible import OpenAICompatible
from handaxe.tools.mcp import mcp

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("chat_server", ROOT / "tests" / "engines" / "chat_server.py")
chat = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(chat)
STATEFUL = f"[{sys.executable!r}, {str(ROOT / 'tests' / 'tools' / 'servers' / 'stateful.py')!r}]"


def polite(body):
    """Calls the calculator with what was asked, then says what it heard."""
    heard = body["messages"][-1]
    if heard["role"] == "tool" or "tools" not in body:
        return chat.said(heard["content"])
    expression = re.search(r"[0-9*+-]+[0-9]", heard["content"])[0]
    return chat.said("", [("calculator", f'{{"expression": "{expression}"}}')], "tool_calls")


def run(script, *words):
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, ROOT / "examples" / script, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=240, env=env).stdout


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


@pytest.mark.slow
def test_a_policy_uses_the_tools_of_a_server():
    serve = [
        sys.executable,
        "-c",
        "from handaxe.cli import main; main()",
        "serve",
        "handaxe.tools.calculator:calculator",
    ]
    shown = run("mcp_tools.py", *serve)
    assert shown.count("attempt ") == 2 and "12*34" in shown


def test_a_server_is_evaluated():
    with chat.ChatServer(polite) as server:
        shown = run("chat_server.py", server.url, "m")
    assert shown == "correct 1.00  calls 1.00\n"


def test_the_blocks_of_the_page_about_mcp():
    names = {}
    for block in blocks("mcp.md"):
        exec(block.replace('["python", "my_server.py"]', STATEFUL), names)

    assert callable(names["env"]) and names["server"].name == "lab"
    names["notes"].close()


def test_the_blocks_of_the_page_about_chat_servers(capsys):
    names = {}
    with chat.ChatServer(polite) as server:
        for block in blocks("chat_servers.md"):
            exec(block.replace("http://127.0.0.1:8000/v1", server.url), names)
        names["engine"].close()
    assert names["reply"].text == "What is a burin?" and names["found"].metrics["pass@1"].value == 1.0
    assert names["reply"].text in capsys.readouterr().out


@pytest.mark.parametrize("page", ["mcp.md", "chat_servers.md"])
def test_every_option_that_a_page_shows_exists(page):
    known = set(inspect.signature(mcp).parameters) | set(inspect.signature(OpenAICompatible).parameters) | {"transport"}
    shown = set(re.findall(r"`(\w+)=", (ROOT / "docs" / page).read_text())) - {"format"}
    assert shown and shown <= known
