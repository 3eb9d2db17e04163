"""What the README shows is what is there."""

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from handaxe.cli import main
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools.sandbox.check_sandbox import check_sandbox

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_program_of_the_readme_is_the_example_and_stands_before_line_thirty():
    shown, *_ = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert shown == (ROOT / "examples" / "quick.py").read_text()
    assert README[: README.index("```", README.index("```python") + 3)].count("\n") <= 30


@pytest.mark.slow
def test_the_program_runs_and_prints_what_the_readme_says():
    """The same lines, and a reward that rises; digits may differ where floating point rounds otherwise."""
    pytest.importorskip("reasoning_gym")
    command = [sys.executable, ROOT / "examples" / "quick.py"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    shown = README.split("```\n", 3)[2].split("```")[0].strip("\n").splitlines()
    steps = [line.split()[1] for line in printed]
    assert steps == [line.split()[1] for line in shown] and len(steps) > 2
    assert float(printed[-1].split()[3]) > float(printed[0].split()[3]) + 0.1


def test_every_file_that_the_readme_names_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


TABLE = README[README.index("| you have | you write |") : README.index("From a function and a table")]
ROWS = dict(re.findall(r"^\| (?!you have)([^|`-]+) \| (.*) \|$", TABLE, re.MULTILINE))
NEEDS = {"an MCP server": "mcp", "documents": "bm25s", "files, a web service": "httpcore"}
IMPORTS = """
from handaxe.tools import tool
from handaxe.tools.calculator import calculator
from handaxe.tools.cpython import cpython
from handaxe.tools.files import files
from handaxe.tools.python import python
from handaxe.tools.sql import sql
"""
LATER = {"an MCP server": "mcp", "documents": "search", "files, a web service": "http"}
FUNCTION = 'def weather(city: str) -> str:\n    "Look up the weather."\n    return "rain"\n'
OFFERED = {
    "a Python function": [["weather"]],
    "an MCP server": [["count", "calculator", "crash", "closings"]],
    "a database": [["query", "tables"]],
    "documents": [["search", "open"]],
    "files, a web service": [["list_files", "read_file", "write_file", "replace_text"], ["http_get"]],
    "nothing, and the policy should compute": [["calculator"], ["python"], ["python"]],
}


@pytest.fixture
def belongings(tmp_path, monkeypatch):
    """A folder with what the table speaks of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    shutil.copy(ROOT / "tests" / "tools" / "servers" / "served.py", tmp_path / "server.py")
    (tmp_path / "DOCUMENTS").mkdir()
    (tmp_path / "DOCUMENTS" / "kemi.txt").write_text("kemi lies on the river arn.")
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE t (v)")


def test_the_table_has_the_rows_that_are_tried():
    assert set(ROWS) == set(OFFERED)


@pytest.mark.parametrize("have", OFFERED)
def test_every_row_of_the_table_goes_into_a_tool_chat(have, belongings):
    if have in NEEDS:
        pytest.importorskip(NEEDS[have])
    names, made = {}, []
    exec(IMPORTS + (f"from handaxe.tools.{LATER[have]} import {LATER[have]}" if have in LATER else ""), names)
    for span in re.findall(r"`([^`]+)`", ROWS[have]):
        if span == "@tool":
            exec(f"{span}\n{FUNCTION}", names)
            made.append(names["weather"])
        elif span.startswith("handaxe "):
            assert not main(span.split()[1:])
        elif "=..." not in span and not (span == "cpython" and not _sandboxed()):
            made.append(eval(span, names))
    offered = []
    for entry in made:
        env = tool_chat([entry])(Task("t", (Message("user", "go"),)))
        offered.append([schema.name for schema in env.start()[1]])
        env.close()
    assert offered == OFFERED[have][: len(made)] and len(made) >= len(OFFERED[have]) - (not _sandboxed())


def _sandboxed():
    try:
        check_sandbox()
    except InputError:
        return False
    return True
