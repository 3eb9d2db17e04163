"""The code of docs/rollouts.md runs as it stands, from top to bottom."""

import re
from pathlib import Path

import handaxe.cli

PAGE = (Path(__file__).parents[2] / "docs" / "rollouts.md").read_text(encoding="ascii")


def test_code_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 7
    space = {}
    for block in blocks:
        exec(compile(block, "docs/rollouts.md", "exec"), space)
    assert [len(found) for found in space["run"](space["attempts"][:2], space["simple"](), space["engine"])] == [1, 1]


def test_commands_of_the_page_exist():
    assert set(re.findall(r"^handaxe (\w+)", PAGE, re.MULTILINE)) <= set(handaxe.cli.COMMANDS)
