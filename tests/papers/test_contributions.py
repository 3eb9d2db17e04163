"""Contributions of abstracts: files exist, figures are those of the folder, and the central papers have lists."""

import json
from pathlib import Path

import pytest

from handaxe.methods.catalog import list_methods, list_studies

ROOT = Path(__file__).parents[2]
PAPERS = {one.paper.name: one.paper for one in (*list_methods(), *list_studies())}
CENTRAL = (1, 6, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 30, 33, 39, 42, 47, 49, 52, 55, 69, 81, 97, 151)
"""Numbers of the papers that three or more lists of the project's sources name, as far as they have a folder."""
LISTED = sorted(name for name, paper in PAPERS.items() if paper.contributions)


def test_central_papers_list_their_contributions():
    own = {paper.number: paper.contributions for paper in PAPERS.values()}
    assert [number for number in CENTRAL if number in own and len(own[number]) < 2] == []


@pytest.mark.parametrize("name", LISTED)
def test_contributions_name_files_and_figures_that_exist(name):
    paper = PAPERS[name]
    known = {claim.metric for page in paper.all_methods for claim in page.claims}
    known |= {act.figure for page in paper.all_methods for act in page.acts}
    known |= {bound.metric for study in paper.studies for bound in study.bounds}
    for file in (ROOT / "handaxe" / "papers" / name).glob("result*.json"):
        known |= set(json.loads(file.read_text()).get("figures", ()))
    for one in paper.contributions:
        assert [file for file in one.files if not (ROOT / file).is_file()] == []
        assert bool(one.files) != bool(one.waits), f"{one.text}: either files, or the reason why it is not here"
        assert one.figure in known | {""}, f"{one.figure} is not among {sorted(known)}"
