from dataclasses import replace

from handaxe.core.records import Criterion
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.parts.met_by_turn import met_by_turn


def rollout(*facts):
    made = make_trajectory(texts=[""] * len(facts))
    turns = [replace(turn, facts=own) for turn, own in zip(made.turns, facts, strict=True)]
    return replace(made, turns=tuple(turns))


def test_met_criteria_stay_met_and_turns_without_facts_meet_none():
    """Left 4, 3, unknown and 5 with the criteria "3 left" and "4 left"."""
    limits = [Criterion("3 left", ""), Criterion("4 left", "")]
    seen = rollout({"left": 4}, {"left": 3}, {}, {"left": 5})
    met_CN = met_by_turn(seen, limits, lambda facts: [facts["left"] <= int(one.name[0]) for one in limits])
    assert met_CN.dtype == bool
    assert met_CN.tolist() == [[False, True, True, True], [True, True, True, True]]
    first = met_by_turn(rollout({}, {"left": 3}), limits, lambda facts: [True, False])
    assert first.tolist() == [[False, True], [False, False]]


def test_no_criterion_or_no_turn_gives_an_empty_table():
    assert met_by_turn(rollout({"left": 1}), [], lambda facts: []).shape == (0, 1)
    assert met_by_turn(replace(rollout({}), turns=()), [Criterion("c", "")], lambda facts: [True]).shape == (1, 0)
