import pytest
from handaxe.methods.study import Bound

from handaxe.core.errors import RecipeError
from handaxe.methods.catalog import find_recipes, find_studies
from handaxe.methods.paper import Paper

GOOD = '''from handaxe.methods.study import Bound, Paper, Study
STUDY = Study(
    paper=Paper(title="A title", short="ABC", arxiv="2101.00001", number=3),
    bounds=(Bound("It is small.", "size", most=2.0), Bound("It is there.", "size", least=0.5)),
)
def it(*, knob: int = 1):
    """Compute it.

    More.
    """
'''


def home(folder, source):
    (folder / "recipes" / "theme").mkdir(parents=True)
    (folder / "recipes" / "theme" / "it.py").write_text(source)
    return folder


def test_studies_are_read_and_not_run_and_are_no_recipes(tmp_path):
    (one,) = find_studies(home(tmp_path, GOOD))
    assert (one.name, one.summary, one.file.name) == ("it", "Compute it.", "it.py")
    assert one.paper == Paper(title="A title", short="ABC", arxiv="2101.00001", number=3)
    assert one.bounds == (Bound("It is small.", "size", most=2.0), Bound("It is there.", "size", least=0.5))
    assert find_recipes(tmp_path) == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (GOOD.replace("def it", "def other"), "beside a function it"),
        (GOOD.replace("STUDY = Study(", "STUDY = Other("), r"must be Study\("),
        (GOOD.replace("short=", "brief="), "does not fit Paper"),
        (GOOD.replace("most=2.0", "most=x"), "does not fit Bound"),
        ("def it(:\n", "line 1"),
    ],
)
def test_a_broken_study_is_named(tmp_path, source, message):
    with pytest.raises(RecipeError, match=message) as error:
        find_studies(home(tmp_path, source))
    assert "it.py" in str(error.value)


def test_bounds():
    between = Bound("So.", "x", least=1.0, most=2.0)
    assert [value for value in (0.9, 1.0, 2.0, 2.1, float("nan")) if between.holds({"x": value})] == [1.0, 2.0]
    assert between.said == "x at least 1 and at most 2" and Bound("So.", "x", most=0.5).said == "x at most 0.5"


def test_every_study_of_ours_is_short_and_has_a_number():
    for one in find_studies():
        assert one.file.read_text().count("\n") <= 40 and one.paper.number and one.bounds
        assert one.summary.endswith(".")
