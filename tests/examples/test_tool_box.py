"""The programs of docs/tool_box.md run as they stand, and print what their section says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tool_box.md"
PROGRAMS = dict(re.findall(r"## (\w+)\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
NEEDS = {"search": "bm25s", "http": "httpcore"}
PRINTS = {
    "search": r".* -> \w+\n\[\w+\] .*\n",
    "sql": r"town\(name TEXT, year INTEGER\)\nname \| year\nkemi \| 1179\nluta \| NULL\n\(2 rows\)\n",
    "files": r"line 1 of 2\nbuy tea\nnotes/todo.txt \(17 bytes\) 1\n",
    "http": r"http_get True\n",
}


def test_every_tool_has_a_program():
    assert set(PROGRAMS) == set(PRINTS)


@pytest.mark.parametrize("name", PRINTS)
def test_a_program_of_the_page(name, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    command = [sys.executable, "-c", PROGRAMS[name]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=240)
    assert re.fullmatch(PRINTS[name], done.stdout), done.stdout + done.stderr
