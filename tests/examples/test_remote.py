"""The scripts and the pages about MCP and chat servers do what they say."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import chat_server as chat

from handaxe.core.errors import VerifierError
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.rollouts.driver import run as run_driver
from handaxe.tools.mcp import mcp
from handaxe.tools.serve import serve

ROOT = Path(__file__).parents[2]

STATEFUL = f"[{sys.executable!r}, {str(ROOT / 'tests' / 'tools' / 'servers' / 'stateful.py')!r}]"


def polite(body):
    """Calls the calculator with what was asked, then says what it heard."""
    heard = body["messages"][-1]
    if heard["role"] == "tool" or "tools" not in body:
        return chat.reply(heard["content"])
    expression = re.search(r"[0-9*+-]+[0-9]", heard["content"])[0]
    return chat.reply("", [("calculator", f'{{"expression": "{expression}"}}')], "tool_calls")


def many_parts(body):
    """Plays, judges, is a customer and invents, as its orders say."""
    order, *rest = (message["content"] for message in body["messages"])
    if order.startswith("You are a judge"):
        right = re.search(r"Key: (.*)\nAnswer: (.*)", rest[0])
        return chat.reply("YES" if right[1] == right[2] else "NO")
    if order.startswith("You are a customer"):
        return chat.reply("###STOP### Thanks." if rest[-1] == "408" else "What do 12*34 cost?")
    if order.startswith("You invent"):
        return chat.reply(f"{len(rest[0])}*{int(rest[0][-1]) // 2}=?")
    if body["messages"][-1]["content"] == "Good morning.":
        return chat.reply("What would you like?")
    return polite(body)


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


@pytest.mark.slow
def test_a_server_is_evaluated():
    with chat.ChatServer(polite) as server:
        shown = run("chat_server.py", server.url, "m")
    assert shown == "correct 1.00  calls 1.00\n"


@pytest.mark.slow
def test_the_blocks_of_the_page_about_mcp():
    names = {}
    for block in blocks("mcp.md"):
        exec(block.replace('["python", "my_server.py"]', STATEFUL), names)

    assert callable(names["env"]) and names["server"].name == "lab"
    names["notes"].close()


@pytest.mark.slow
def test_the_blocks_of_the_page_about_chat_servers(capsys):
    names = {}
    with chat.ChatServer(many_parts) as server:
        for block in blocks("chat_servers.md"):
            exec(block.replace("http://127.0.0.1:8000/v1", server.url), names)
            if "found" in names:
                assert names["found"].metrics["pass@1"].value == 1.0
                assert not any(names["found"].excluded.values())
        for engine in ("engine", "judge", "customer"):
            names[engine].close()
    assert names["reply"].text == "What is a burin?" and names["reply"].text in capsys.readouterr().out
    asked = {body["model"] for body in server.bodies}
    assert asked == {"my-model", "judge-model", "customer-model"}
    talk = names["talk"]
    assert talk.ending.kind == "completed" and [one.by for one in talk.aux_turns] == ["user"]
    assert [message.content for message in talk.messages if message.role != "tool" and not message.calls] == [
        "Good morning.", "What would you like?", "What do 12*34 cost?", "408", "###STOP### Thanks.",
    ]  # fmt: skip
    assert [one.text for one in names["verdicts"]] == ["12*34=408", "12*34=409"], "this server knows no log-probs"
    assert names["invented"] == ["10*0=?", "10*1=?", "10*2=?"]
    assert len(names["lessons"]) == 5 and all(lesson.num_tokens and lesson.calls for lesson in names["lessons"])


def judged_by(words):
    """The page up to its judge, who says this."""
    names = {}
    answer = lambda body: chat.reply(words) if body["model"] == "judge-model" else many_parts(body)  # noqa: E731
    with chat.ChatServer(answer) as server:
        for block in blocks("chat_servers.md"):
            exec(block.replace("http://127.0.0.1:8000/v1", server.url), names)
            if "judged" in names:
                break
    return names["found"]


def test_the_judge_of_the_page_scores_a_no_as_0_and_nothing_where_it_does_not_judge():
    found = judged_by("NO")
    assert found.metrics["pass@1"].value == 0.0 and not any(found.excluded.values())
    with pytest.raises(VerifierError, match="invalid verdict .Well"):
        judged_by("Well, YES and NO")


@pytest.mark.parametrize("page", ["mcp.md", "chat_servers.md"])
def test_every_option_that_a_page_shows_exists(page):
    known = {name for made in (mcp, serve, run_driver, OpenAICompatible) for name in inspect.signature(made).parameters}
    shown = set(re.findall(r"`(\w+)=", (ROOT / "docs" / page).read_text())) - {"format"}
    assert shown and shown <= known
