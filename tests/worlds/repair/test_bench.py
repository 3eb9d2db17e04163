"""Tools of both forms, on real tasks."""

import pytest

pytest.importorskip("toolz")
pytest.importorskip("hyperlink")

from handaxe.core.errors import Retry
from handaxe.worlds.repair.bench import listing, make_bench, numbered, read_source
from handaxe.worlds.repair.source import Edit, replace_token
from handaxe.worlds.repair.tasks import mutants


@pytest.fixture(scope="module")
def mutant(sandbox):
    """A task of toolz with a short search."""
    return next(one for one in mutants() if one.module.name == "toolz.itertoolz" and one.tries > 1)


def undone(mutant):
    """The brief edit that repairs a task."""
    number = numbered(mutant).index(mutant.edit.line) + 1
    row = read_source(mutant).mutated(mutant.edit)[mutant.edit.line - 1]
    right = read_source(mutant).rows[mutant.edit.line - 1]
    edit = mutant.edit
    nth = next(
        k for k in (1, 2, 3) if replace_token(row, edit._replace(old=edit.new, new=edit.old, occurrence=k)) == right
    )
    return f"{number} {edit.new} {edit.old} {nth}"


def test_a_repair_in_the_brief_form(mutant):
    bench = make_bench(mutant, brief=True)
    assert bench.run_tests() != "ok" and bench.facts()["passing"] is False
    assert bench.list_functions().split(" ")[0] == listing(mutant)[0].name
    number = numbered(mutant).index(mutant.edit.line) + 1
    assert bench.read(str(number)).startswith(f"{number} ") and bench.facts()["seen"]
    assert bench.replace(undone(mutant)) == "ok" and bench.facts()["changed"]
    assert bench.run_tests() == "ok" and bench.facts()["passing"] is True
    assert bench.submit() == "ok" and bench.report()["repaired"] and bench.report()["left"] == 0
    assert (bench.report()["runs"], bench.report()["replacements"]) == (2, 1)


def test_a_repair_in_prose(mutant):
    bench = make_bench(mutant, brief=False)
    assert bench.run_tests().startswith("failed: ") and "of the test" in bench.run_tests()
    assert f"{mutant.function}: lines " in bench.list_functions()
    line, rows = mutant.edit.line, read_source(mutant).rows
    faulty = read_source(mutant).mutated(mutant.edit)[line - 1]
    assert bench.read(f"{line}-{line + 99}").split("\n")[0] == f"{line} {faulty}"
    assert len(bench.read(f"1-{line}").split("\n")) <= 40
    bench.replace(line, rows[line - 1].strip())
    assert bench.rows == rows and bench.run_tests() == "passed"
    bench.undo()
    assert bench.rows[line - 1] == faulty and bench.facts()["passing"] is None
    bench.submit()
    assert not bench.report()["repaired"] and 0 < bench.report()["left"] < 1


def test_the_submission_runs_the_hidden_tests(mutant):
    assert mutant.killers >= 2
    bench = make_bench(mutant, brief=False)
    bench.submit()
    failed = round(bench.report()["left"] * len(mutant.module.names))
    assert failed == mutant.killers


def test_an_edit_that_passes_only_the_shown_test_does_not_repair(sandbox):
    """`len(index) == 1` of `getter` became `!= 1`; with `!= 2` the shown test passes, and a hidden one fails."""
    getter = next(one for one in mutants() if one.function == "getter" and one.edit == Edit(806, 1, "==", "!="))
    bench = make_bench(getter, brief=False)
    bench.replace(806, "if len(index) != 2:")
    assert bench.run_tests() == "passed"
    bench.submit()
    assert bench.report()["submitted"] and not bench.report()["repaired"] and bench.report()["left"] > 0


def test_a_snapshot_keeps_edits(mutant):
    bench = make_bench(mutant, brief=True)
    bench.list_functions()
    bench.read("1-4")
    state, facts = bench.snapshot(), bench.facts()
    bench.replace(undone(mutant))
    bench.run_tests()
    bench.submit()
    other = make_bench(mutant, brief=True)
    other.restore(state)
    assert other.facts() == facts and not other.report()["submitted"]
    other.replace(undone(mutant))
    assert bench.snapshot()[0][0] == other.snapshot()[0][0] and state[0][0] == []


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read", {"lines": "a-b"}, "first and the last line"),
        ("read", {"lines": "9-4"}, "lines start at 1"),
        ("read", {"lines": "99999"}, "lines are 1 to"),
        ("replace", {"edit": "4 <"}, "say line"),
        ("replace", {"edit": "4 < <= x"}, "say line"),
        ("replace", {"edit": "99999999 < <="}, "lines are 1 to"),
        ("replace", {"edit": "2 @@ <="}, "has no @@"),
        ("undo", {}, "no replacement"),
    ],
)
def test_bad_arguments_are_answered(mutant, name, arguments, words):
    bench = make_bench(mutant, brief=True)
    with pytest.raises(Retry, match=words):
        getattr(bench, name)(**arguments)


def test_edits_of_other_code_are_refused(mutant):
    bench = make_bench(mutant, brief=False)
    line = mutant.edit.line
    for where, text in ((1, "import os"), (line, "import os"), (line, "return __builtins__"), (10**6, "x")):
        with pytest.raises(Retry):
            bench.replace(where, text)
    assert bench.facts()["edits"] == [] and bench.rows == read_source(mutant).mutated(mutant.edit)
