"""A mechanism or method built on a guessed formula says so, wherever a reader sees it.

Each paper below is known without its formulas: from its abstract, from summaries or from memory. An id leaves this list
when somebody has read the formula.
"""

import ast
import re
from pathlib import Path

import pytest

from handaxe.methods.catalog import list_methods, list_studies

ROOT = Path(__file__).parents[2]
GUESSED = {
    "2510.26020": "PORTool",
    "2509.24107": "Fathom-DeepResearch",
    "2507.23317": "TP-GRPO",
    "2509.25598": "PPR",
    "2509.01684": "RL for machine learning engineering agents",
    "2409.12798": "CALM",
    "2508.04416": "VITAL, its DGRPO",
    "2509.21842": "DeepTravel",
    "2512.20745": "AgentMath",
    "2601.03555": "SCRIBE",
    "2505.15143": "LHF, its score",
    "2507.08182": "CTRLS",
    "1612.06699": "Unsupervised perceptual rewards",
    "2410.03212": "QTA, its ranking function",
    "2410.14594": "Toolshed, its pipeline",
}
ONLY_IN = {
    "2505.15143": ("history_score", "retained_histories"),
    "2507.08182": ("spectral_steps", "dirichlet_transitions", "latent_actions", "reinforce_transitions"),
    "1612.06699": ("step_classifiers",),
    "2410.03212": ("tool_index", "retrieval_rank", "with_raw_query"),
    "2410.14594": ("fuse_rankings", "tool_fusion"),
}
"""Papers of which one part alone is a guess: the files of that part."""


def docstrings(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def silent_mechanisms(package, guessed=GUESSED, only_in=ONLY_IN):
    """Files with a docstring that cites a paper of the list without "Unconfirmed:". The page of a method has its
    own."""
    found, methods = [], {one.file for one in (*list_methods(), *list_studies())}
    for file in sorted(set(package.rglob("*.py")) - methods):
        asked = {arxiv for arxiv in guessed if file.stem in only_in.get(arxiv, (file.stem,))}
        cited = asked & set(re.findall(r"\d{4}\.\d{4,5}", file.read_text()))
        for text in docstrings(file) if cited else ():
            if asked & set(re.findall(r"\d{4}\.\d{4,5}", text)) and "Unconfirmed:" not in text:
                found.append(file.relative_to(package).as_posix())
    return found


def test_mechanisms_of_guessed_formulas_are_unconfirmed():
    assert silent_mechanisms(ROOT / "handaxe") == []


def test_pages_of_guessed_formulas_are_unconfirmed():
    listed = [one for one in (*list_methods(), *list_studies()) if one.paper.arxiv in GUESSED]
    assert listed and [one.name for one in listed if not one.page.unconfirmed] == []


@pytest.mark.parametrize("said", [True, False])
def test_silent_mechanism_is_found(tmp_path, said):
    line = "\n    Unconfirmed: all of it." if said else ""
    (tmp_path / "rewards").mkdir()
    mechanism = f'def more():\n    """Pay.\n\n    Paper: arXiv:2101.00001.{line}\n    """\n'
    (tmp_path / "rewards/more.py").write_text(mechanism)
    (tmp_path / "rewards/read.py").write_text('"""Paper: arXiv:2101.00001, which was read for this part."""\n')
    only = {"2101.00001": ("more",)}
    assert silent_mechanisms(tmp_path, only, only) == ([] if said else ["rewards/more.py"])
    assert silent_mechanisms(tmp_path, only, {}) == ([] if said else ["rewards/more.py"]) + ["rewards/read.py"]
