"""What the README shows is what is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_program_of_the_readme_is_the_example_and_stands_before_line_thirty():
    (shown,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert shown == (ROOT / "examples" / "quick.py").read_text()
    assert README[: README.index("```", README.index("```python") + 3)].count("\n") <= 30


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


@pytest.mark.parametrize("room", ["ops", "tools", "envs", "models", "engines", "rollouts", "training", "testing"])
def test_every_room_is_on_the_map(room):
    assert f"`{room}/`" in README and (ROOT / "handaxe" / room).is_dir()
