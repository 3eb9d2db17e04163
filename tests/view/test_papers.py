from dataclasses import replace

import pytest

from handaxe.evaluation.claims import Claim, Control, decide
from handaxe.evaluation.figures import RunFigures
from handaxe.evaluation.replication import Decided, Replication
from handaxe.view.papers import Entry, Mechanism, mechanisms_of, papers_page, parts_of

CLAIM = Claim("It gets better.", "pass@1", "up", baseline="start")
ENTRY = Entry("first", "handaxe/recipes/base/first.py", "ABC: a title", "ABC", "2101.00001", "plain", "gym", (CLAIM,))


@pytest.fixture
def root(tmp_path):
    for folder in ("handaxe/rewards", "handaxe/recipes/base", "tests/rewards"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "handaxe/rewards/with_test.py").write_text('"""Paper: arXiv:2101.00001, and arXiv:2101.00001."""')
    (tmp_path / "handaxe/rewards/without.py").write_text('"""Paper: arXiv:2101.00002."""')
    (tmp_path / "handaxe/rewards/not_cited.py").write_text('"""The number 2101.00001 alone cites nothing."""')
    (tmp_path / "handaxe/recipes/base/first.py").write_text(
        "from handaxe.rewards.without import without\nfrom handaxe.rewards.gone import gone\nimport numpy\n"
        "from handaxe.recipes.base.first import x\nfrom handaxe.rewards.without import also\n# arXiv:2101.00001\n"
    )
    (tmp_path / "tests/rewards/test_with_test.py").touch()
    return tmp_path


def test_mechanisms_are_found_by_the_id_they_cite(root):
    assert mechanisms_of(root) == {
        "2101.00001": [Mechanism("handaxe/rewards/with_test.py", "tests/rewards/test_with_test.py")],
        "2101.00002": [Mechanism("handaxe/rewards/without.py", "")],
    }


def test_the_parts_of_a_recipe_are_what_it_imports(root):
    assert parts_of(root, root / "handaxe/recipes/base/first.py") == (Mechanism("handaxe/rewards/without.py", ""),)


def test_parts_may_be_imported_from_their_room(root):
    (root / "handaxe/recipes/base/of_a_room.py").write_text("from handaxe.rewards import gone, without\n")
    assert parts_of(root, root / "handaxe/recipes/base/of_a_room.py") == (Mechanism("handaxe/rewards/without.py", ""),)


def test_the_page_of_a_recipe_that_was_never_run(root):
    entry = ENTRY._replace(parts=parts_of(root, root / "handaxe/recipes/base/first.py"))
    text = papers_page([entry], mechanisms_of(root))
    assert text.isascii() and "## ABC: a title\n" in text
    link = "[2101.00001](https://arxiv.org/abs/2101.00001)"
    assert f"| ABC | {link} | `first` | pass@1 up, against start | not replicated yet |" in text
    assert "- Changes: `plain`, in the world `gym`\n" in text
    assert "[tests/rewards/test_with_test.py](tests/rewards/test_with_test.py)" in text
    assert "[handaxe/rewards/without.py](handaxe/rewards/without.py): no test of its own" in text
    other = (
        "| [2101.00002](https://arxiv.org/abs/2101.00002) | [handaxe/rewards/without.py](handaxe/rewards/without.py) |"
    )
    assert other in text


def test_every_claim_has_a_row_and_a_verdict_of_its_own():
    entry = ENTRY._replace(claims=(CLAIM, Claim("And shorter.", "tokens", "down", note="Short ones.")))
    text = papers_page([entry], {})
    assert "- Claim: And shorter.\n  - Decided by: tokens down, against plain\n  - Note: Short ones.\n" in text
    assert text.count("  - Verdict: not replicated yet\n") == 2
    tally = "Of 2 claims 0 hold, 0 do not, 0 are undecided, 0 are not testable here, and 2 were not replicated yet.\n"
    assert tally in text


def test_a_verdict_stands_beside_the_claim_it_is_of():
    ours = [RunFigures([{"x": value}], {}) for value in (1.0, 1.1, 0.9)]
    theirs = [RunFigures([{"x": value}], {}) for value in (2.0, 2.1, 2.1)]
    claim = Claim("x falls", "training/x", "down")
    decided = Decided(claim, decide(claim, ours, theirs, control=Control(0.25)), "plain", Control(0.25))
    command = "handaxe replicate first"
    made = Replication("first", command, "0.1.0+ab", (100, 101, 102), (decided,), {}, {}, {}, {"a": 3}, ("used",))
    entry = ENTRY._replace(claims=(claim, CLAIM), replication=made)
    text = papers_page([entry], {})
    said = "**holds**: training/x 1.000 against 2.067, difference -1.067 [-1.354, -0.780] over 3 pairs"
    assert entry.brief(claim) == said and entry.brief(CLAIM) == "not replicated yet"
    assert "Of 2 claims 1 hold, 0 do not, " in text and ", and 1 were not replicated yet.\n" in text
    assert said in text and "with scores dealt out anew training/x differs by +0.250" in text
    none = decided._replace(control=Control(float("nan")))
    text_without = papers_page([entry._replace(replication=replace(made, claims=(none,)))], {})
    assert "with scores dealt out anew there is no training/x" in text_without, "such as of calls that are never made"
    assert "| pass@1 up, against start | not replicated yet |" in text, "another claim has no verdict"
    said_otherwise = replace(claim, statement="x is lower", note="A note.")
    assert entry.brief(said_otherwise) == said and entry.brief(replace(claim, over="area")) == "not replicated yet"
    assert "  - Told no two siblings apart, in no run: used" in text
    assert "- Replicated by `handaxe replicate first`, code 0.1.0+ab, seeds 100 to 102" in text
