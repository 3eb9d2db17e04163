import json
from pathlib import Path

import pytest

import handaxe
from handaxe.cli import main
from handaxe.evaluation.acts import Activation, ActivationStep, SeenAct
from handaxe.evaluation.claim_figures import ClaimFigures, pair_values
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.replication import DecidedClaim, Replication

PAGE = """title = "A title"
short = "ABC"
arxiv = "2101.00001"
number = 3
about = "It trains better."
differs = ["It is smaller."]

[[claims]]
text = "It gets better."
metric = "pass@1"
direction = "up"
baseline = "start"
"""
METHOD = '''def first(base, *, knob: int = 1):
    """Train it."""
    return base
'''
STUDY = """title = "Another title"
short = "CDE"
arxiv = "2101.00002"
number = 4

[[studies]]
name = "computed"

[[studies.bounds]]
text = "It is small."
metric = "size"
most = 1.0
"""


@pytest.fixture
def checkout(tmp_path):
    for folder in ("handaxe/papers/first", "tests/papers/first"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "handaxe/papers/first/paper.toml").write_text(PAGE)
    (tmp_path / "handaxe/papers/first/__init__.py").write_text(METHOD)
    (tmp_path / "handaxe/papers/first/more.py").write_text('"""Pay more.\n\nPaper: arXiv:2101.00001."""\n')
    (tmp_path / "tests/papers/first/test_more.py").touch()
    return tmp_path


def test_pages_are_written_checked_and_found_stale(checkout, capsys):
    root = str(checkout)
    assert main(["papers", "--check", "--root", root]) == 1
    assert main(["papers", "--root", root]) == 0
    assert main(["papers", "--check", "--root", root]) == 0
    page = (checkout / "handaxe/papers/first/README.md").read_text()
    assert page.startswith("# ABC: A title\n") and "It trains better." in page and "- It is smaller." in page
    assert "- [more.py](more.py): Pay more. ([test](../../../tests/papers/first/test_more.py))" in page
    assert "| It gets better. | pass@1 up, against start | not replicated yet |" in page
    capsys.readouterr()
    (checkout / "handaxe/papers/first/other.py").write_text('"""Pay less."""\n')
    assert main(["papers", "--check", "--root", root]) == 1
    shown = capsys.readouterr().err
    assert "stale" in shown and "other.py" in shown


def test_index_has_one_line_a_method_and_counts_verdicts(checkout):
    assert main(["papers", "--root", str(checkout)]) == 0
    index = (checkout / "PAPERS.md").read_text()
    assert "Of 1 claims 0 hold, 0 are reversed, 0 show no effect, 0 are undecided, 0 are not testable, and 1" in index
    row = "| [ABC](handaxe/papers/first/README.md) | [2101.00001](https://arxiv.org/abs/2101.00001) | `first` |"
    assert f"{row} grpo_no_kl | 1 not replicated yet |" in index


def test_figure_that_must_not_fall_comes_from_the_claim(checkout):
    page = checkout / "handaxe/papers/first/paper.toml"
    page.write_text(PAGE.replace('baseline = "start"', 'keeps = "calls"'))
    assert main(["papers", "--root", str(checkout)]) == 0
    shown = (checkout / "handaxe/papers/first/README.md").read_text()
    assert "| pass@1 up and calls stays within 0.05, against grpo_no_kl |" in shown


def test_contributions_are_a_table_with_links(checkout):
    page = checkout / "handaxe/papers/first/paper.toml"
    listed = [
        '[[contributions]]\ntext = "It pays."\nfiles = ["handaxe/papers/first/more.py"]\nfigure = "pass@1"\n',
        '[[contributions]]\ntext = "It flies."\nwaits = "wings."\n',
    ]
    page.write_text(PAGE.replace("[[claims]]", "\n".join([*listed, "[[claims]]"])))
    assert main(["papers", "--root", str(checkout)]) == 0
    shown = (checkout / "handaxe/papers/first/README.md").read_text()
    assert "| It pays. | [more.py](more.py) | `pass@1`: not replicated yet |\n" in shown
    assert "| It flies. | not here: wings. | - |\n" in shown


def test_acts_of_a_result_are_on_the_page(checkout):
    steps = (ActivationStep(1, 0.25, 1.0), ActivationStep(20, float("nan"), 0.5, "no critic"))
    made = Replication(
        method="first",
        command="handaxe replicate first",
        version="0.1.0",
        seeds=(100, 101),
        claims=(),
        arguments={},
        baselines={},
        curves={},
        seconds={},
        acts=(SeenAct("training/loss/clip_fraction", 0.001, 0.25),),
        activation=Activation("grpo_no_kl", steps),
    )
    (checkout / "handaxe/papers/first/result.json").write_text(made.to_json())
    assert main(["papers", "--root", str(checkout)]) == 0
    page = (checkout / "handaxe/papers/first/README.md").read_text()
    assert "- Acts: training/loss/clip_fraction 0.250, at least 0.001\n" in page
    wanted = "against `grpo_no_kl`: step 1 0.250 and 1.000; step 20 - and 0.500 (no critic)\n"
    assert f"- Update angle and batch difference {wanted}" in page


def test_a_result_is_shown_with_its_setting_and_the_estimates_beside_the_mean(checkout):
    claim = Claim("It gets better.", "pass@1", "up", baseline="start")
    paired = pair_values([0.5, 0.6, 0.7, 0.6] * 2, [0.5, 0.5, 0.5, 0.4] * 2)
    made = Replication(
        method="first",
        command="handaxe replicate first",
        version="0.1.0",
        seeds=tuple(range(8)),
        claims=(DecidedClaim.of(claim, ClaimFigures(paired), "start"),),
        arguments={"held_out": 200, "samples": 1},
        baselines={},
        curves={},
        seconds={},
    )
    (checkout / "handaxe/papers/first/result.json").write_text(made.to_json())
    assert main(["papers", "--root", str(checkout)]) == 0
    page = (checkout / "handaxe/papers/first/README.md").read_text()
    assert "- Results: 8 pairs of runs, seeds 0 to 7, 200 held-out tasks, 1 sample, by `handaxe" in page
    assert ", interquartile mean +0.150 [" in page, "0, 0.1, 0.2, 0.2, twice: (0.1 + 0.1 + 0.2 + 0.2) / 4"
    assert ", probability of improvement 0.906 [" in page, "13 wins and 3 ties of 16 comparisons"


def test_study_has_its_bounds_verdicts_and_figures(checkout):
    folder = checkout / "handaxe/papers/cde"
    folder.mkdir()
    (folder / "paper.toml").write_text(STUDY)
    (folder / "computed.py").write_text('def computed():\n    """Compute it."""\n')
    (folder / "__init__.py").write_text(METHOD.replace("first", "cde"))
    assert main(["papers", "--root", str(checkout)]) == 0
    assert "- It is small. (size at most 1)\n" in (folder / "README.md").read_text()
    index = (checkout / "PAPERS.md").read_text()
    assert (
        "Of 1 bounds of studies 0 hold, 0 do not hold, and 1 were not run yet." in index
        and "| 1 not run yet |" in index
    )
    verdict = {"text": "It is small.", "bound": "size at most 1", "verdict": "does not hold"}
    found = {"study": "computed", "seed": 3, "figures": {"size": 2.0, "steps": 13.0}, "verdicts": [verdict]}
    (folder / "result_computed.json").write_text(json.dumps(found))
    assert main(["papers", "--root", str(checkout)]) == 0
    page = (folder / "README.md").read_text()
    assert "- It is small. (size at most 1): **does not hold**\n" in page
    index = (checkout / "PAPERS.md").read_text()
    assert "Of 1 bounds of studies 0 hold, 1 do not hold, and 0 were not run yet." in index
    assert "| 1 does not hold |" in index
    assert "- Figures: size 2, steps 13, seed 3\n" in page
    (folder / "paper.toml").write_text(STUDY.replace("It is small.", "The size is small."))
    assert main(["papers", "--root", str(checkout)]) == 0
    page = (folder / "README.md").read_text()
    assert "- The size is small. (size at most 1): **does not hold**\n" in page, "figures decide, not the words"


@pytest.mark.parametrize("study", ["cde", "computed"])
def test_notes_of_a_paper_are_on_the_page_once(checkout, study):
    """A folder whose only page is a study, and a folder with a method of its name and a study."""
    folder = checkout / "handaxe/papers/cde"
    folder.mkdir()
    page = STUDY.replace("[[studies]]", 'notes = ["The bound is older."]\n\n[[studies]]', 1)
    (folder / "paper.toml").write_text(page.replace("computed", study))
    (folder / "__init__.py").write_text(METHOD.replace("first", "cde"))
    (folder / f"{study}.py").write_text(f'def {study}():\n    """Compute it."""\n')
    assert main(["papers", "--root", str(checkout)]) == 0
    assert (folder / "README.md").read_text().count("Notes:\n\n- The bound is older.\n") == 1


def test_folder_without_a_checkout_is_an_error(tmp_path, capsys):
    assert main(["papers", "--root", str(tmp_path)]) == 2
    assert "not a checkout" in capsys.readouterr().err


@pytest.mark.slow
def test_pages_of_this_checkout_are_up_to_date():
    assert main(["papers", "--check", "--root", str(Path(handaxe.__file__).parents[1])]) == 0
