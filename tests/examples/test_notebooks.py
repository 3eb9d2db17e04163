"""The notebooks of examples/ run from top to bottom, and are committed with small outputs of such a run."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = ("compare_methods", "first_program", "own_tool")
LARGEST = 100_000
"""Bytes of a notebook, pictures included."""


def code_cells(book):
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def kinds(cell):
    """Kinds of a cell's results; text beside an HTML table or a picture is not committed, nor are warnings."""
    found = set()
    for one in cell["outputs"]:
        if one["output_type"] == "stream":
            found |= {"text"} if one["name"] == "stdout" and "".join(one["text"]).strip() else set()
        else:
            shown = set(one["data"])
            found |= shown - {"text/plain"} or shown
    return found


def test_all_notebooks_are_named_here():
    assert {file.stem for file in FOLDER.glob("*.ipynb")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_committed_after_a_complete_run_and_small(name):
    text = (FOLDER / f"{name}.ipynb").read_text()
    cells = code_cells(json.loads(text))
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [one for cell in cells for one in cell["outputs"] if one["output_type"] == "error"]
    assert any("text/html" in kinds(cell) for cell in cells) or name == "own_tool"
    assert len(text) < LARGEST and "/work" not in text and "/home" not in text


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_notebook_runs_and_shows_the_kinds_of_results_that_are_committed(name):
    pytest.importorskip("ipykernel")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    committed = [kinds(cell) for cell in code_cells(book)]
    nbclient.NotebookClient(book, timeout=None, resources={"metadata": {"path": str(FOLDER)}}).execute()
    assert [kinds(cell) for cell in code_cells(book)] == committed
