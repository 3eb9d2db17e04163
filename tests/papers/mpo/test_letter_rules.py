import pytest

from handaxe.core.errors import InputError
from handaxe.papers.mpo.evolving_rubric import WORDS
from handaxe.papers.mpo.letter_rules import EACH, FIRST_RUBRIC, ITEMS, ONCE, OTHERS, USES, RuleJunior, RuleMeta
from handaxe.papers.mpo.rubric_sample import RubricSample, add_scores, count_words
from handaxe.testing.make_records import make_task

TASK = make_task(metadata={"required": "bdf"})
JUNIOR = RuleJunior()
META = RuleMeta(JUNIOR)


def sample(line):
    return RubricSample(TASK, line, 0.0)


@pytest.mark.parametrize(
    "line, points",
    [
        ("bdf", (3, 6, 6, 6)),
        ("bbdfb", (5, 6, 4, 6)),
        ("bbbbbbb", (6, 2, 0, 6)),
        ("abcdefgh", (3, 6, 6, 1)),
        ("bb", (2, 2, 5, 6)),
        ("", (0, 0, 6, 6)),
    ],
)
def test_points_by_hand(line, points):
    """Of uses (at most 6), of each required letter (2 a letter), and of lines without repeated and other letters."""
    assert JUNIOR.score((USES, EACH, ONCE, OTHERS), TASK, [line]) == [points]


def test_an_unknown_item_is_refused():
    with pytest.raises(InputError, match="no points for the item 'Rhymes.': give --judge MODEL"):
        JUNIOR.score(("Rhymes.",), TASK, ["bdf"])


@pytest.mark.parametrize(
    "rubric, line, critique",
    [
        ((USES,), "bbdf", "repeated letters"),
        ((USES,), "bdf", ""),
        ((USES,), "bdfa", "other letters"),
        ((EACH,), "bbdfa", "repeated letters, other letters"),
        ((EACH, ONCE), "bbdf", ""),
        ((EACH, ONCE, OTHERS), "bbdfa", ""),
    ],
)
def test_a_flaw_fools_the_rubric_if_its_repair_earns_no_more(rubric, line, critique):
    assert META.analyse(rubric, [sample(line)]) == [critique]
    assert META.screen(rubric, [sample(line)]) == [critique != ""]


def test_the_first_rubric_is_refined_until_no_flaw_fools_it():
    """Repetition first: a precise item replaces the first one; then an item against each flaw."""
    rubric, seen = FIRST_RUBRIC, []
    while any(META.screen(rubric, [sample("bbdfa")])):
        critiques = META.analyse(rubric, [sample("bbdfa")])
        rubric = META.merge(rubric, META.refine(rubric, critiques))
        seen.append(set(rubric))
    assert seen == [{EACH, OTHERS}, {EACH, OTHERS, ONCE}]


def test_the_word_budget_holds_all_proposals_of_an_update():
    assert 20 * count_words(tuple(ITEMS)) == 520 < WORDS


def test_the_merge_counts_proposals_and_drops_what_is_replaced():
    assert META.merge((USES,), [(USES, OTHERS), (EACH,), (EACH, OTHERS), (EACH,)]) == (EACH, OTHERS)
    assert META.refine((USES,), [""]) == [(USES,)]


def test_the_full_rubric_orders_lines_as_the_true_score_does():
    lines = ["bdf", "bdfa", "bb", "bbdfa", "bbbbbb"]
    points = [add_scores(own) for own in JUNIOR.score((EACH, ONCE, OTHERS), TASK, lines)]
    assert points[0] == max(points) and points[1] > points[3]
    fooled = [add_scores(own) for own in JUNIOR.score(FIRST_RUBRIC, TASK, lines)]
    assert fooled[-1] == max(fooled) > fooled[0]
    assert set(ITEMS) == {USES, EACH, ONCE, OTHERS}
