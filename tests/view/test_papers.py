import json

import pytest

from handaxe.errors import InputError
from handaxe.view.papers import Entry, Mechanism, Result, mechanisms_of, papers_page, parts_of, read_result

VALUE = {"value": 0.5, "low": 0.25, "high": None}
CLAIM = {"statement": "It gets better.", "metric": "pass@1", "direction": "up", "baseline": "start"}
ENTRY = Entry("first", "handaxe/recipes/first.py", "ABC: a title", "ABC", "2101.00001", **CLAIM)


def result(verdict):
    after = {"pass@1": {"value": 0.75, "low": 0.5, "high": 1.0}}
    return Result("handaxe train first", 40, 81.4, {"pass@1": VALUE}, after, {"pass@1": {"verdict": verdict}})


@pytest.fixture
def root(tmp_path):
    for folder in ("handaxe/rewards", "handaxe/recipes", "tests/rewards"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "handaxe/rewards/with_test.py").write_text('"""Paper: arXiv:2101.00001, and arXiv:2101.00001."""')
    (tmp_path / "handaxe/rewards/without.py").write_text('"""Paper: arXiv:2101.00002."""')
    (tmp_path / "handaxe/rewards/not_cited.py").write_text('"""The number 2101.00001 alone cites nothing."""')
    (tmp_path / "handaxe/recipes/first.py").write_text(
        "from handaxe.rewards.without import without\nfrom handaxe.rewards.gone import gone\nimport numpy\n"
        "from handaxe.recipes.first import x\nfrom handaxe.rewards.without import also\n# arXiv:2101.00001\n"
    )
    (tmp_path / "tests/rewards/test_with_test.py").touch()
    return tmp_path


def test_mechanisms_are_found_by_the_id_they_cite(root):
    assert mechanisms_of(root) == {
        "2101.00001": [Mechanism("handaxe/rewards/with_test.py", "tests/rewards/test_with_test.py")],
        "2101.00002": [Mechanism("handaxe/rewards/without.py", "")],
    }


def test_the_parts_of_a_recipe_are_what_it_imports(root):
    assert parts_of(root, root / "handaxe/recipes/first.py") == (Mechanism("handaxe/rewards/without.py", ""),)


def test_the_page_of_a_recipe_that_was_never_run(root):
    entry = ENTRY._replace(parts=parts_of(root, root / "handaxe/recipes/first.py"))
    text = papers_page([entry], mechanisms_of(root), {}, {})
    assert text.isascii() and "## ABC: a title\n" in text
    row = "| ABC | [2101.00001](https://arxiv.org/abs/2101.00001) | `first` | pass@1 up, against start | not measured |"
    assert row in text
    assert "[tests/rewards/test_with_test.py](tests/rewards/test_with_test.py)" in text
    assert "[handaxe/rewards/without.py](handaxe/rewards/without.py): no test of its own" in text
    other = (
        "| [2101.00002](https://arxiv.org/abs/2101.00002) | [handaxe/rewards/without.py](handaxe/rewards/without.py) |"
    )
    assert other in text


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        ("higher", "higher: the claim holds"),
        ("lower", "lower: the claim is not confirmed"),
        ("no clear difference", "no clear difference: the claim is not confirmed"),
    ],
)
def test_a_result_is_told_with_its_interval_command_and_verdict(verdict, says):
    text = papers_page([ENTRY], {}, {"first": result(verdict)}, {})
    assert f"- Last measured: pass@1 0.500 [0.250, -] -> 0.750 [0.500, 1.000], {says}\n" in text
    assert "`handaxe train first` (40 steps, 81 s)" in text


def test_one_run_cannot_decide_a_claim_about_another_recipe():
    text = papers_page([ENTRY._replace(baseline="grpo")], {}, {"first": result("higher")}, {})
    assert "holds" not in text and "confirmed" not in text


def test_a_claim_about_something_that_was_not_measured():
    assert "grad_norm not measured" in papers_page(
        [ENTRY._replace(metric="grad_norm")], {}, {"first": result("higher")}, {}
    )


def test_results_are_read_from_json(tmp_path):
    file = tmp_path / "first.json"
    assert read_result(file) is None
    file.write_text(json.dumps({**result("higher")._asdict(), "more": 1}))
    assert read_result(file) == result("higher")
    for damaged in ("{", "{}", "[]"):
        file.write_text(damaged)
        with pytest.raises(InputError, match=r"first\.json"):
            read_result(file)


def measured(value, low, high, *, where="after"):
    figures = {"seconds": {"value": value, "low": low, "high": high}}
    parts = {"before": {}, "after": {}, "training": {}} | {where: figures}
    return Result("handaxe train x", 20, 1.0, difference={}, **parts)


@pytest.mark.parametrize(
    ("direction", "ours", "theirs", "holds"),
    [
        ("down", (1.0, 0.9, 1.1), (2.0, 1.8, 2.2), True),
        ("down", (1.0, 0.9, 1.9), (2.0, 1.8, 2.2), False),
        ("up", (1.0, 0.9, 1.1), (2.0, 1.8, 2.2), False),
        ("up", (2.0, 1.8, 2.2), (1.0, 0.9, 1.1), True),
        ("up", (2.0, None, None), (1.0, 0.9, 1.1), False),
    ],
)
@pytest.mark.parametrize("where", ["after", "training"])
def test_a_claim_against_another_run_holds_where_the_intervals_do_not_meet(direction, ours, theirs, holds, where):
    entry = ENTRY._replace(metric="seconds", direction=direction, baseline="slow")
    results, others = {"first": measured(*ours, where=where)}, {"first": measured(*theirs, where=where)}
    text = papers_page([entry], {}, results, others)
    assert ("the claim holds (one seed)" in text) == holds
    assert ("the claim is not confirmed (one seed)" in text) == (not holds)
    assert "Compared with: `handaxe train x`" in text


def test_what_a_baseline_came_to_is_told_too():
    entry = ENTRY._replace(metric="seconds", direction="down", baseline="slow")
    other = result("higher")._replace(training={"seconds": {"value": 2.0, "low": 1.8, "high": 2.2}})
    text = papers_page([entry], {}, {"first": measured(1.0, 0.9, 1.1)}, {"first": other})
    assert "the claim holds (one seed)" in text and "\n    - pass@1 0.500 [0.250, -] -> 0.750 [0.500, 1.000]" in text


def test_a_baseline_that_did_not_measure_it_decides_nothing():
    entry = ENTRY._replace(metric="seconds", baseline="slow")
    text = papers_page([entry], {}, {"first": measured(1, 1, 1)}, {"first": result("higher")})
    assert "seconds not measured" in text and "claim holds" not in text


def two(seconds, accuracy):
    """A run with the intervals of two metrics."""
    figures = {name: {"value": sum(ends) / 2, "low": ends[0], "high": ends[1]} for name, ends in (seconds, accuracy)}
    return Result("handaxe train x", 20, 1.0, {}, {"pass@1": figures["pass@1"]}, {}, {"seconds": figures["seconds"]})


@pytest.mark.parametrize(
    ("accuracy", "holds"),
    [
        ((0.6, 0.7), True),
        ((0.7, 0.9), True),
        ((0.71, 0.9), False),
        ((0.3, 0.5), True),
        ((0.3, 0.49), False),
    ],
)
def test_what_must_stay_stays_where_the_intervals_meet(accuracy, holds):
    """The baseline's pass@1 lies within 0.5 and 0.7; an end in common is enough."""
    entry = ENTRY._replace(metric="seconds", direction="down", baseline="slow", same="pass@1")
    ours, base = two(("seconds", (1, 2)), ("pass@1", accuracy)), two(("seconds", (3, 4)), ("pass@1", (0.5, 0.7)))
    text = papers_page([entry], {}, {"first": ours}, {"first": base})
    assert ("the claim holds (one seed)" in text) == holds
    assert ("the claim is not confirmed (one seed)" in text) == (not holds)
    assert "seconds 1.500 [1.000, 2.000], slow 3.500 [3.000, 4.000]; pass@1 " in text
    assert ", slow 0.600 [0.500, 0.700]: the claim" in text
    assert "| seconds down and pass@1 stays, against slow |" in text
    assert "- Decided by: `seconds` goes down and `pass@1` stays, against `slow`\n" in text
    assert "    - seconds 3.500 [3.000, 4.000], over the training steps\n" in text


def test_staying_alone_confirms_nothing():
    entry = ENTRY._replace(metric="seconds", direction="down", baseline="slow", same="pass@1")
    alike = two(("seconds", (1, 2)), ("pass@1", (0.5, 0.7)))
    assert "the claim is not confirmed (one seed)" in papers_page([entry], {}, {"first": alike}, {"first": alike})


def test_what_must_stay_has_to_be_measured_with_both_ends():
    entry = ENTRY._replace(metric="seconds", direction="down", baseline="slow", same="pass@1")
    slow = two(("seconds", (3, 4)), ("pass@1", (0.5, 0.7)))
    without = two(("seconds", (1, 2)), ("pass@1", (0.5, 0.7)))._replace(after={})
    assert "pass@1 not measured" in papers_page([entry], {}, {"first": without}, {"first": slow})
    open_end = without._replace(after={"pass@1": {"value": 0.6, "low": 0.5, "high": None}})
    assert "the claim is not confirmed" in papers_page([entry], {}, {"first": open_end}, {"first": slow})


def test_a_note_stands_under_the_figures_and_only_there():
    entry = ENTRY._replace(note="There is no long tail here.")
    assert "\n  - There is no long tail here.\n" in papers_page([entry], {}, {"first": result("higher")}, {})
    assert "tail" not in papers_page([entry], {}, {}, {})


def test_a_baseline_that_was_never_run_is_said_so():
    entry = ENTRY._replace(metric="seconds", direction="down", baseline="slow")
    text = papers_page([entry], {}, {"first": measured(1.0, 0.9, 1.1, where="training")}, {})
    assert "- Last measured: seconds 1.000 [0.900, 1.100], slow not measured\n" in text and "holds" not in text
