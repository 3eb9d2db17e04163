"""docs/data.md: its commands run as printed in examples/data, and its configuration file equals the command."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from handaxe.cli import main
from handaxe.methods.config_file import read_config
from handaxe.methods.lookup import list_names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "data.md").read_text()
COMMANDS = [part.replace("\\\n", " ") for part in re.findall(r"```\n(handaxe .*?)```", PAGE, re.DOTALL)]
SHORT = shlex.split("--groups 2 --group-size 2 --held-out 4 --max-tokens 8 --quiet --out run")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "data" / "make_data.py"), run_name="__main__")
    return tmp_path


@pytest.mark.parametrize("number", range(5))
def test_commands_run(here, number):
    assert len(COMMANDS) == 5
    if "stream" in COMMANDS[number]:
        pytest.importorskip("datasets")
    assert main([*shlex.split(COMMANDS[number])[1:], *SHORT]) == 0


def test_the_configuration_file_equals_the_command(here):
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    Path("run.toml").write_text(text)
    found = read_config(Path("run.toml")).arguments
    words = shlex.split(COMMANDS[3])
    parts = words[words.index("--world.parts") + 1 : words.index("--world.weights")]
    assert found["world.parts"] == dict(zip(parts[::2], parts[1::2]))
    assert found["world.weights"] == {"sum": 3, "unit": 1}


def test_the_table_lists_every_curriculum():
    table = PAGE[PAGE.index("| name | tasks of a step |") :]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == list_names("curricula")
