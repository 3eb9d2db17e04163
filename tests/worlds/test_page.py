"""docs/worlds.md: its programs run as a reader would type them, and its commands are those of the command line."""

import json
import random
import re
import shlex
from pathlib import Path

import pytest

from handaxe.cli import main
from handaxe.methods.names import offered

PAGE = (Path(__file__).parents[2] / "docs" / "worlds.md").read_text()
TOOL, OWN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [part.replace("\\\n", " ") for part in re.findall(r"```\n(handaxe .*?)```", PAGE, re.DOTALL)]


def test_the_table_holds_every_world():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == ["gym", "sums", "calls", "library", "jsonl"]
    assert {one.name for one in offered("worlds")} == {"gym", "sums", "calls", "library", "jsonl"}


def test_a_world_of_ones_own():
    exec(compile(OWN, "worlds.md", "exec"), {"__name__": "docs_worlds"})


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with the page's tool and questions of its kind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "cache"))
    Path("units.py").write_text(TOOL)
    rng, lines = random.Random(0), {}
    while len(lines) < 60:
        value = rng.randrange(1, 1000) / 10
        lines[f"What is {value:g} mm in cm?"] = round(value / 10, 3)
    Path("units.jsonl").write_text("\n".join(json.dumps({"question": q, "answer": a}) for q, a in lines.items()))
    monkeypatch.delitem(__import__("sys").modules, "units", raising=False)


def test_the_commands_run(mine, capsys):
    """As they stand, but for how long and, in training, for the model, which is the start that was just made."""
    train, start, trained = COMMANDS
    short = "--skill 2 --steps 1 --held-out 2 --max-tokens 8 --quiet"
    assert main([*shlex.split(start)[1:], *shlex.split(short)]) == 0
    assert "handaxe train RECIPE --model units-start" in capsys.readouterr().out
    short = "--steps 1 --groups 1 --group-size 2 --held-out 2 --max-tokens 8 --quiet --out"
    for number, command in enumerate((train, trained)):
        words = [word if word != "smollm2" else "units-start" for word in shlex.split(command)[1:]]
        assert main([*words, *shlex.split(short), f"run{number}"]) == 0
