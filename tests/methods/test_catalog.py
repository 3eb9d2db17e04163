import pytest

from handaxe.core.errors import RecipeError
from handaxe.evaluation.claims import Claim
from handaxe.methods.catalog import find_recipes
from handaxe.methods.paper import Paper

GOOD = '''from functools import partial
from handaxe.methods.method import Claim, Paper, Recipe
import a_module_that_is_not_there
TITLE = "A title"
RECIPE = Recipe(
    paper=Paper(TITLE, short="ABC", arxiv="2101.00001", number=3),
    claims=(Claim("It is " "shorter.", "tokens", direction="down"), Claim("And right.", "pass@1", "up")),
    base=partial(grpo, kl_coefficient=0.5),
    world=sums,
)
def {name}(base, *, knob: int = 1):
    """Train it.

    More.
    """
'''


def home(folder, **sources):
    (folder / "recipes" / "theme").mkdir(parents=True)
    for name, source in sources.items():
        (folder / "recipes" / "theme" / f"{name}.py").write_text(source)
    return folder


def test_recipes_are_read_and_not_run(tmp_path):
    found = find_recipes(
        home(tmp_path, second=GOOD.format(name="second"), first=GOOD.format(name="first"), no="X = 1\n")
    )
    assert [one.name for one in found] == ["first", "second"]
    one = found[0]
    assert (one.summary, one.theme, one.file.name) == ("Train it.", "theme", "first.py")
    assert one.paper == Paper(title="A title", short="ABC", arxiv="2101.00001", number=3)
    assert one.claims == (Claim("It is shorter.", "tokens", "down"), Claim("And right.", "pass@1", "up"))
    assert (one.base, one.world) == ("grpo (kl_coefficient=0.5)", "sums")


def test_a_recipe_may_have_no_paper_and_no_claim_and_a_root_has_no_base(tmp_path):
    plain, root = find_recipes(
        home(
            tmp_path,
            own='RECIPE = Recipe()\ndef own(base): "Train."\n',
            root='RECIPE = Recipe(paper=None)\ndef root(world, setting): "Make."\n',
        )
    )
    assert (plain.paper, plain.claims, plain.base, plain.world) == (None, (), "plain", "gym")
    assert (root.paper, root.base) == (None, "")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "RECIPE = Recipe(paper=Paper(title=HERE, short='a'))\ndef broken(base): ''\n",
            "line 1: this does not fit Paper",
        ),
        ("RECIPE = Recipe(paper=Paper(title='a'))\ndef broken(base): ''\n", "short"),
        ("RECIPE = 3\ndef broken(base): ''\n", r"must be Recipe\("),
        ("RECIPE = Recipe(claims=(CLAIM,))\ndef broken(base): ''\n", r"must be Claim\(...\) written out"),
        ("RECIPE = Recipe(claims=(Claim('s', 'm', 'sideways'),))\ndef broken(base): ''\n", "sideways"),
        ("def broken(:\n", "line 1"),
    ],
)
def test_a_broken_recipe_is_named(tmp_path, source, message):
    with pytest.raises(RecipeError, match=message) as error:
        find_recipes(home(tmp_path, broken=source))
    assert "broken.py" in str(error.value)


def test_two_recipes_of_one_name_in_two_folders(tmp_path):
    folder = home(tmp_path, twice=GOOD.format(name="twice"))
    (folder / "recipes" / "other").mkdir()
    (folder / "recipes" / "other" / "twice.py").write_text(GOOD.format(name="twice"))
    with pytest.raises(RecipeError, match="two recipes are called 'twice'"):
        find_recipes(folder)
