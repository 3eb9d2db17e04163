"""Repeated scoring: state advances, differences are counted, and a reward that hangs or raises stops nothing."""

import time

import numpy as np
import pytest
from helpers.group_records import recorded_group

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Scores
from handaxe.evaluation.rescoring import count_differences, determinism, rescore, scored_groups
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_task, make_trajectory

TASK = make_task(answer="4")


def group(*texts, calls=()):
    made = []
    for k, text in enumerate(texts):
        count = calls[k] if calls else 0
        made.append(
            make_trajectory(texts=["", text], calls=[["f"] * count, []], replies=[["1"] * count, []], task=TASK)
        )
    return make_group(task=TASK, trajectories=made)


def test_scored_groups_hold_scored_siblings_only():
    three = group("4", "5", "4")
    record = recorded_group(three, Scores(np.array([1.0, 1.0])), scored=[True, False, True])
    dropped = recorded_group(group("4"), fate="dropped")
    ((kept, scores),) = scored_groups([record, dropped])
    assert [one.id for one in kept] == ["task-0/0/0", "task-0/0/2"] and scores.outcome.tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match="nothing to score again"):
        scored_groups([dropped])


def test_the_state_of_a_reward_advances_over_groups():
    groups = [group("4", "5", calls=(3, 0)), group("4", "5", calls=(1, 0)), group("4", "5", calls=(3, 0))]
    found = rescore(fewer_calls(base=exact_match(), smooth=3), groups)
    (_, first), _, (_, last) = found.scored
    assert first.outcome[0] == 1.0 and last.outcome[0] < 1.0 and not found.failed and len(found.seconds) == 3
    fresh = rescore(fewer_calls(base=exact_match(), smooth=3), groups)
    assert count_differences(found.scored, fresh.scored) == 0
    assert count_differences(found.scored, rescore(exact_match(), groups).scored) == 1
    with pytest.raises(InputError, match="not scores of the same groups"):
        count_differences(found.scored, fresh.scored[1:])


def test_a_raising_or_undecided_reward_stops_nothing():
    def raises(one_group):
        if len(one_group) == 1:
            raise KeyError("alone")
        return exact_match()(one_group)

    found = rescore(raises, [group("4", "5"), group("4"), group("5", "4")])
    assert [np.nan_to_num(scores.outcome, nan=-1).tolist() for _, scores in found.scored] == [[1, 0], [-1], [0, 1]]
    assert found.failed == ["task-0: it raised KeyError: 'alone'"]

    @outcome
    def undecided(one):
        if one.id.endswith("/0"):
            raise VerifierError("no idea", trajectory=one.id)
        return 1.0

    ((_, scores),) = rescore(undecided, [group("4", "5")]).scored
    assert np.isnan(scores.outcome[0]) and scores.outcome[1] == 1.0


def test_a_hanging_reward_is_called_once():
    asked = []

    def hangs(one_group):
        asked.append(one_group)
        time.sleep(3)
        return exact_match()(one_group)

    found = rescore(hangs, [group("4"), group("4"), group("4")], seconds=0.05)
    assert len(asked) == 1 and len(found.scored) == 3 and "no result after 0.05 s" in found.failed[0]
    assert determinism(hangs, [group("4")], seconds=0.05).failed.startswith("task-0: no result after")


def test_determinism_finds_random_and_order_dependent_rewards():
    groups = [group("4", "5"), group("5", "4")]
    assert determinism(exact_match(), groups) == (2, 0, 0, 0.0, "")
    assert determinism(fewer_calls(base=exact_match(), smooth=3), groups) == (2, 0, 0, 0.0, "")
    rng = np.random.default_rng(0)
    dice = determinism(lambda one: Scores(rng.random(len(one))), groups)
    assert dice.repeated == dice.reordered == 2 and 0 < dice.largest < 1
    ordered = determinism(lambda one: Scores(np.arange(len(one), dtype=float)), groups)
    assert (ordered.repeated, ordered.reordered, ordered.largest) == (0, 2, 1.0)
    rounded = determinism(lambda one: Scores(np.arange(len(one)) * 1e-12), groups)
    assert (rounded.repeated, rounded.reordered) == (0, 0)  # sums of siblings are rounded by their order
    assert "KeyError" in determinism(lambda one: {}["a"], groups).failed
