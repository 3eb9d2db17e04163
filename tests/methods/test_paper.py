import pytest

from handaxe.core.errors import MethodError
from handaxe.evaluation.acts import ActFigure
from handaxe.evaluation.claims import Claim
from handaxe.methods.catalog import list_methods
from handaxe.methods.paper import Bound, read_method_page, read_paper

GOOD = """
title = "A title"
short = "ABC"
arxiv = "2101.00001"
number = 3
base = "grpo --kl-coefficient 0.5"
world = "hops --lengths 2 3"
settings = { model = "start", steps = 4 }
differs = ["It is smaller."]

[[claims]]
text = "Fewer calls at equal accuracy."
metric = "calls"
direction = "down"
keeps = "pass@1"
baseline_must_exceed = 0.2

[[methods]]
name = "second"
base = "first"

[[studies]]
name = "computed"

[[studies.bounds]]
text = "It is small."
metric = "size"
most = 2.0
"""


def folder_with(folder, text):
    (folder / "first").mkdir()
    (folder / "first" / "paper.toml").write_text(text)
    return folder / "first"


def test_acts_are_read_from_the_page(tmp_path):
    text = GOOD.replace("[[methods]]\n", '[[acts]]\nfigure = "calls"\nat_least = 0.5\n\n[[methods]]\n')
    text = text.replace('base = "first"\n', 'base = "first"\n\n[[methods.acts]]\nfigure = "turns"\nat_least = 2\n')
    first, second = read_paper(folder_with(tmp_path, text)).all_methods
    assert first.acts == (ActFigure(figure="calls", at_least=0.5),) and second.acts == (
        ActFigure(figure="turns", at_least=2),
    )


@pytest.mark.parametrize("line", ["at_least = 0", 'at_least = "much"', "at_least = 1\nat_most = 2", ""])
def test_act_without_a_bound_that_can_fail_is_an_error(tmp_path, line):
    text = GOOD.replace("[[methods]]\n", f'[[acts]]\nfigure = "calls"\n{line}\n\n[[methods]]\n')
    with pytest.raises(MethodError, match=r"paper.toml: acts\.0"):
        read_paper(folder_with(tmp_path, text))


def test_read_paper_gives_methods_studies_and_claims(tmp_path):
    paper = read_paper(folder_with(tmp_path, GOOD))
    assert (paper.name, paper.title, paper.short, paper.arxiv, paper.number) == (
        "first",
        "A title",
        "ABC",
        "2101.00001",
        3,
    )
    assert (paper.base, paper.world, paper.differs) == (
        "grpo --kl-coefficient 0.5",
        "hops --lengths 2 3",
        ("It is smaller.",),
    )
    assert paper.settings == {"model": "start", "steps": 4}
    wanted = Claim("Fewer calls at equal accuracy.", "calls", "down", keeps="pass@1", baseline_must_exceed=0.2)
    assert paper.claims == (wanted,)
    assert [one.name for one in paper.all_methods] == ["first", "second"]
    assert paper.studies[0].bounds == (Bound(text="It is small.", metric="size", most=2.0),)


def test_folder_without_page_has_defaults(tmp_path):
    (tmp_path / "mine").mkdir()
    page = read_method_page(tmp_path / "mine", "mine")
    assert (page.name, page.short, page.base, page.world, page.claims) == ("mine", "mine", "grpo_no_kl", "gym", ())
    assert read_method_page(tmp_path / "mine", "another").name == "another"


def test_folder_with_a_study_of_its_name_has_no_method_of_its_name(tmp_path):
    paper = read_paper(folder_with(tmp_path, '[[studies]]\nname = "first"\n'))
    assert paper.all_methods == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "paper.toml: "),
        ('titel = "A"', "titel: Unexpected keyword argument"),
        ("number = 'three'", "number: Input should be a valid integer"),
        ('name = "other"', "the method is named as its folder"),
        (
            '[[claims]]\ntext = "a"\nmetric = "m"\ndirection = "sideways"',
            "claims.0.direction: Input should be 'up' or 'down'",
        ),
        (
            '[[claims]]\ntext = "a"\nmetric = "m"',
            "claims.0.direction: Missing required argument|claims.0.direction: Field",
        ),
        ('[[claims]]\ntext = "a"\nmetric = "m"\ndirection = "up"\nover = "first"', "over='first' and level="),
        ('[[studies]]\nname = "s"\n[[studies.bounds]]\ntext = "a"\nmetric = 3', "studies.0.bounds.0.metric"),
    ],
)
def test_wrong_field_of_a_page_is_named(tmp_path, text, message):
    with pytest.raises(MethodError, match=message) as error:
        read_paper(folder_with(tmp_path, text))
    assert "first/paper.toml" in str(error.value)


def test_bound_holds_between_its_limits_and_not_for_nan():
    between = Bound(text="So.", metric="x", least=1.0, most=2.0)
    assert [value for value in (0.9, 1.0, 2.0, 2.1, float("nan")) if between.holds({"x": value})] == [1.0, 2.0]
    assert between.condition == "x at least 1 and at most 2"
    assert Bound(text="So.", metric="x", most=0.5).condition == "x at most 0.5"


def test_papers_of_the_library_have_titles_and_one_number_an_id():
    papers = [one.paper for one in list_methods() if one.paper.title]
    ids = {(paper.number, paper.arxiv) for paper in papers if paper.number is not None}
    assert len({number for number, _ in ids}) == len({arxiv for _, arxiv in ids}) == len(ids)
    pages = [one.page.short for one in list_methods() if one.paper.title]
    assert len(set(pages)) == len(pages)
