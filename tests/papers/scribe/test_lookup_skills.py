import pytest

from handaxe.core.records import ToolCall, ToolReply
from handaxe.papers.scribe.lookup_skills import LOOKUP_RULES, LOOKUP_SKILLS, lookup_or_answer, single_turns
from handaxe.papers.scribe.skill_items import skill_check, skill_items
from handaxe.rewards.rubric_points import rubric_points
from handaxe.testing.make_records import make_group, make_task, make_trajectory

TASK = make_task(question="4071 boss ally?", answer="1390")


def attempt(*turns, errors=None, status="ok"):
    """Turns are (query, reply), or the text of an answer."""
    calls = [
        [] if isinstance(one, str) else [ToolCall("search", {"query": one[0]}, f"c{n}")] for n, one in enumerate(turns)
    ]
    replies = [
        [] if isinstance(one, str) else [ToolReply(f"c{n}", "search", one[1], status)] for n, one in enumerate(turns)
    ]
    texts = [one if isinstance(one, str) else "" for one in turns]
    return make_trajectory(task=TASK, texts=texts, calls=calls, replies=replies, errors=errors)


def paid(one):
    items = skill_items(segments=single_turns, route=lookup_or_answer, skills=LOOKUP_SKILLS)
    reward = rubric_points(items=items, check=skill_check(LOOKUP_RULES), without=0.0)
    return reward(make_group(task=TASK, trajectories=[one])).outcome[0]


FIRST, SECOND = ("4071 boss", "[4071 boss] 4071 boss 5526"), ("5526 ally", "5526 ally 1390")


def test_lookup_skills_equal_the_worked_example():
    one = attempt(FIRST, ("9999 ally", "none"), "5526")
    assert [lookup_or_answer(one, place) for place in single_turns(one)] == ["lookup", "lookup", "answer"]
    assert paid(one) == pytest.approx((1 + 2 / 3 + 1) / 3) == pytest.approx(0.8889, abs=1e-4)


@pytest.mark.parametrize(
    ("one", "share"),
    [
        (attempt(FIRST, SECOND, "1390"), 1),
        (attempt(SECOND, "1390"), (2 / 3 + 1) / 2),  # 5526 was not spoken of
        (attempt(FIRST, FIRST, "5526."), (1 + 2 / 3 + 1) / 3),
        (attempt(FIRST, "1390"), 1 / 2),  # guessed
        (attempt(FIRST, ""), 1 / 2),
        (attempt("4071"), 0),  # the question's own word is no finding
    ],
)
def test_criteria_are_met_by_their_rules(one, share):
    assert paid(one) == pytest.approx(share)


def test_failed_calls_are_not_carried_out():
    assert paid(attempt(FIRST, status="failed")) == pytest.approx(2 / 3)
    broken = attempt("", errors=[["not JSON"]])
    assert lookup_or_answer(broken, (0, 1)) == "lookup" and paid(broken) == pytest.approx(1 / 3)


def test_a_trajectory_without_turns_meets_nothing():
    assert paid(make_trajectory(layouts=["U"], task=TASK)) == 0
