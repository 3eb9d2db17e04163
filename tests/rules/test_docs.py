"""Python blocks of documentation pages run in order."""

import re
import tempfile
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "programs"),
    [
        ("driver", 5),
        ("tools", 5),
        ("stages", 2),
        ("use", 3),
        ("judges", 2),
        ("lab", 1),
        ("rewards", 2),
        ("trajectories", 2),
        ("doctor", 1),
        ("images", 1),
        ("synthesis", 2),
    ],
)
def test_code_blocks_of_a_page_run(page, programs, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # a page may leave the folder of a run
    text = (DOCS / f"{page}.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= programs
    names = {"__name__": f"docs_{page}"}
    for block in blocks:
        line = text[: text.index(block)].count("\n")
        # Blank lines keep the line numbers of the page in tracebacks.
        exec(compile("\n" * line + block, str(DOCS / f"{page}.md"), "exec"), names)
