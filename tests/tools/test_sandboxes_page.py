"""The code on docs/sandboxes.md runs, and its numbers are the library's."""

import re
from pathlib import Path

from handaxe.tools.sandbox.limits import Limits

PAGE = (Path(__file__).parents[2] / "docs" / "sandboxes.md").read_text(encoding="ascii")


def test_the_code_runs(sandbox):
    scope = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, scope)


def test_the_table_of_limits_is_complete_and_true():
    shown = dict(re.findall(r"^\| `(\w+)`[^|]*\| (\d+(?: [MG]iB)?) \|", PAGE, re.MULTILINE))
    units = {"MiB": 2**20, "GiB": 2**30}
    for name, value in Limits()._asdict().items():
        number, _, unit = shown[name].partition(" ")
        assert int(number) * units.get(unit, 1) == value, name
