"""Code and numbers of docs/sandboxes.md."""

import re
from pathlib import Path

from handaxe.tools.sandbox.limits import Limits

PAGE = (Path(__file__).parents[2] / "docs" / "sandboxes.md").read_text(encoding="ascii")


def test_code_blocks_of_the_page_run(sandbox):
    scope = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, scope)


def test_table_of_limits_equals_the_defaults():
    shown = dict(re.findall(r"^\| `(\w+)`[^|]*\| (\d+(?: [MG]iB)?) \|", PAGE, re.MULTILINE))
    units = {"MiB": 2**20, "GiB": 2**30}
    for name, value in Limits()._asdict().items():
        number, _, unit = shown[name].partition(" ")
        assert int(number) * units.get(unit, 1) == value, name
