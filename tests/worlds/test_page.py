"""docs/worlds.md: its programs run as printed, and its commands are valid."""

import json
import random
import re
import shlex
import shutil
from pathlib import Path

import pytest

from handaxe.cli import main
from handaxe.methods.lookup import list_names

PAGE = (Path(__file__).parents[2] / "docs" / "worlds.md").read_text()
(OWN,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [part.replace("\\\n", " ") for part in re.findall(r"```\n(handaxe .*?)```", PAGE, re.DOTALL)]


def test_the_table_lists_every_world():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(list_names("worlds"))


def test_the_example_world_keeps_the_contract():
    exec(compile(OWN, "worlds.md", "exec"), {"__name__": "docs_worlds"})


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with the tool of the examples and questions of the page's kind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "cache"))
    shutil.copy(Path(__file__).parents[2] / "examples" / "units" / "units.py", "units.py")
    rng, lines = random.Random(0), {}
    while len(lines) < 60:
        value = rng.randrange(1, 1000) / 10
        lines[f"What is {value:g} mm in cm?"] = round(value / 10, 3)
    Path("units.jsonl").write_text("\n".join(json.dumps({"question": q, "answer": a}) for q, a in lines.items()))
    monkeypatch.delitem(__import__("sys").modules, "units", raising=False)


def test_the_train_command_runs(mine):
    """As printed, except for duration and model."""
    train = COMMANDS[0]
    short = "--steps 1 --groups 1 --group-size 2 --held-out 2 --max-tokens 8 --quiet --out run"
    words = [word if word != "smollm2" else "tiny" for word in shlex.split(train)[1:]]
    assert main([*words, *shlex.split(short)]) == 0


@pytest.mark.slow
def test_the_start_and_train_commands_of_bfcl_run(mine):
    """As printed, except for duration."""
    pytest.importorskip("bfcl_eval")
    look, both = COMMANDS[1:]
    start, train = (shlex.split(line)[1:] for line in both.strip().split("\n"))
    assert main([*start, *shlex.split("--skill 1 --steps 1 --batch-size 2 --held-out 2 --quiet")]) == 0
    short = "--steps 1 --groups 1 --group-size 2 --held-out 2 --max-tokens 8 --quiet --out run"
    assert main([*train, *shlex.split(short)]) == 0
    look = [word if word != "smollm2" else "tiny" for word in shlex.split(look)[1:]]
    assert main([*look, "--tasks", "2", "--max-tokens", "4"]) == 0
