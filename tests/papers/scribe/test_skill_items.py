import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.papers.scribe.skill_items import find_segment, skill_check, skill_items
from handaxe.rewards.outcome import outcome
from handaxe.rewards.rubric_points import rubric_points
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_trajectory

SKILLS = {
    "lookup": [Criterion("query", "It names what is looked for.", 7.0)],
    "compare": [Criterion("both", "It says both."), Criterion("larger", "It says the larger.", after=("both",))],
}


def holds(word):
    return lambda one, segment: any(word in turn.parsed.text for turn in one.turns[slice(*segment)])


RULES = {name: holds(name) for name in ("query", "both", "larger")}


def items(segments=((0, 2), (2, 5)), route=lambda one, segment: "lookup" if segment[0] == 0 else "compare"):
    return skill_items(segments=lambda one: segments, route=route, skills=SKILLS)


def paid(*texts, made=None):
    group = make_group(trajectories=[make_trajectory(texts=list(texts))])
    return rubric_points(items=made or items(), check=skill_check(RULES))(group).outcome[0]


def test_skill_items_equal_the_worked_example():
    listed = items()(make_trajectory(texts=[""] * 5))
    assert [one.name for one in listed] == ["0-2/lookup/query", "2-5/compare/both", "2-5/compare/larger"]
    assert [one.points for one in listed] == [1, 0.5, 0.5] and [one.kind for one in listed] == ["lookup"] + [
        "compare"
    ] * 2
    assert find_segment(listed[2]) == ((2, 5), "larger")
    assert paid("", "query", "both", "", "") == 0.75
    group = make_group(trajectories=[make_trajectory(texts=["", "query", "both", "", ""])])
    one = outcome(lambda _: 1.0)
    middle = rubric_points(items=items(), check=skill_check(RULES))
    whole = weighted({"right": (1.0, one), "middle": (0.2, middle), "format": (0.1, one)})
    assert whole(group).outcome[0] == pytest.approx(1.25)


def test_criteria_are_checked_in_their_segment_only():
    assert paid("", "", "query both larger", "", "") == 0.5
    assert paid("larger both", "query", "", "", "") == 0.5


def test_a_repeated_skill_has_separate_items():
    made = items(segments=((0, 1), (1, 2), (2, 3)), route=lambda one, segment: "lookup")
    assert paid("query", "", "query", made=made) == pytest.approx(2 / 3)


def test_skill_items_refuses_empty_and_unknown_skills():
    with pytest.raises(InputError, match="without a criterion"):
        skill_items(segments=lambda one: (), route=lambda one, segment: "a", skills={"a": []})
    with pytest.raises(InputError, match="routed to 'guess'"):
        paid("a", made=items(segments=((0, 1),), route=lambda one, segment: "guess"))
    with pytest.raises(InputError, match="segment 0-2 of"):
        paid("a", made=items(segments=((0, 2),)))
