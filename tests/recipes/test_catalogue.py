import inspect

import pytest

from handaxe.errors import RecipeError
from handaxe.recipes.catalogue import find_recipes, load_recipe
from handaxe.recipes.paper import Claim, Paper

GOOD = '''from handaxe.recipes.paper import Claim, Paper
import a_module_that_is_not_there
PAPER = Paper(title="A title", short="ABC", arxiv="2101.00001", number=3)
CLAIM: Claim = Claim(statement="It is " "shorter.", metric="tokens", direction="down")
def {name}(*, steps: int = 1) -> dict:
    """Train it.

    More.
    """
'''


def write(folder, **sources):
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    return [str(folder)]


def test_recipes_are_read_and_not_run(tmp_path):
    places = write(tmp_path, second=GOOD.format(name="second"), first=GOOD.format(name="first"), helper="X = 1\n")
    found = find_recipes(places)
    assert [one.name for one in found] == ["first", "second"]
    assert found[0].summary == "Train it." and found[0].file == tmp_path / "first.py"
    assert found[0].paper == Paper(title="A title", short="ABC", arxiv="2101.00001", number=3)
    assert found[0].claim == Claim(statement="It is shorter.", metric="tokens", direction="down")


def test_a_recipe_may_have_no_paper_and_no_claim(tmp_path):
    (one,) = find_recipes(write(tmp_path, plain='PAPER = None\ndef plain(): "Train."\n'))
    assert (one.paper, one.claim, one.summary) == (None, None, "Train.")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("PAPER = None\n", r"no function broken\(\.\.\.\)"),
        ("PAPER = Paper(title=TITLE, short='a')\ndef broken(): ''\n", "line 1: PAPER does not fit"),
        ("PAPER = Paper(title='a')\ndef broken(): ''\n", "short"),
        ("PAPER = 3\ndef broken(): ''\n", r"must be Paper\(\.\.\.\)"),
        ("PAPER = None\nCLAIM = Claim('s', 'm', 'sideways')\ndef broken(): ''\n", "sideways"),
        ("def broken(:\n", "line 1"),
    ],
)
def test_a_broken_recipe_is_named(tmp_path, source, message):
    with pytest.raises(RecipeError, match=message) as error:
        find_recipes(write(tmp_path, broken=source))
    assert "broken.py" in str(error.value)


def test_an_unknown_name_gets_close_matches():
    with pytest.raises(RecipeError, match="did you mean otc"):
        load_recipe("otk")
    with pytest.raises(RecipeError, match="lists them"):
        load_recipe("qqqqqqqqqq")


@pytest.mark.parametrize("one", find_recipes(), ids=lambda one: one.name)
def test_what_was_read_is_what_an_import_gives(one):
    recipe = load_recipe(one.name)
    assert (recipe.paper, recipe.claim) == (one.paper, one.claim)
    assert recipe.build.__name__ == one.name and inspect.getdoc(recipe.build).startswith(one.summary)
    parameters = inspect.signature(recipe.build).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters)
