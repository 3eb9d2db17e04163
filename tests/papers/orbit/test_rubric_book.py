import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, Message, Task
from handaxe.papers.orbit.rubric_book import RubricBook, pass_rates, seed_cases
from handaxe.papers.orbit.search_criteria import GENERAL_ITEMS, search_item
from handaxe.synthesis.seed_rubrics import SeedCase
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

pytest.importorskip("bm25s")


def task(question, path=()):
    return Task(question, (Message("user", f"{question}?"),), "1", metadata={"path": list(path)})


CASES = seed_cases(
    [task("4071 boss ally", ("boss", "ally")), task("9000 heir heir", ("heir", "heir")), task("1 idol", ("idol",))]
)


def names(items):
    return [one.name for one in items]


def test_seed_rubrics_have_an_item_a_relation():
    assert names(CASES[1].criteria)[:1] == ["search heir"] and len(CASES[1].criteria) == 1 + len(GENERAL_ITEMS)


def test_the_most_similar_cases_are_retrieved():
    book = RubricBook(CASES, cases=2)
    found = [case.question for case in book.retrieved(task("7 heir boss"))]
    assert set(found) == {"4071 boss ally", "9000 heir heir"}


def test_criteria_fit_the_question():
    book = RubricBook(CASES, cases=2)
    assert {"search boss", "search heir"} < set(names(book(task("7 heir boss"))))
    assert "search ally" not in names(book(task("7 heir boss")))
    assert names(RubricBook(CASES, cases=0)(task("7 heir boss"))) == names(GENERAL_ITEMS)


def test_points_are_means_over_the_cases():
    cases = [SeedCase("a boss", (Criterion("form", "x", 1.0),)), SeedCase("b boss", (Criterion("form", "x", 4.0),))]
    (only,) = RubricBook(cases, cases=2)(task("c boss"))
    assert only.points == 2.5


def rated(*answers):
    one = task("7 heir")
    made = [make_trajectory(texts=[answer]) for answer in answers]
    return make_rated(group=make_group(trajectories=made, task=one), outcome=[0.0] * len(made))


def test_easy_criteria_with_positive_points_are_dropped():
    book = RubricBook(CASES, cases=1)
    groups = [rated("a", "b", "c", "d e")]
    assert pass_rates(book, groups)["one word"] == 0.75
    book.drop_easy(groups, above=0.75)
    assert book.dropped == frozenset()
    book.drop_easy(groups, above=0.5)
    assert book.dropped == {"one word"} and "one word" not in names(book(task("7 heir")))
    with pytest.raises(InputError, match="from 0 to 1"):
        book.drop_easy(groups, above=2.0)


def test_a_rubric_keeps_positive_points():
    book = RubricBook([SeedCase("a heir", (search_item("heir"), GENERAL_ITEMS[2]))], cases=1)
    book.dropped = frozenset({"search heir"})
    assert names(book(task("7 heir"))) == ["search heir", "failed"]


def test_wrong_arguments_raise():
    for cases, count in (([], 1), (CASES, -1)):
        with pytest.raises(InputError, match="a seed case or more"):
            RubricBook(cases, cases=count)
