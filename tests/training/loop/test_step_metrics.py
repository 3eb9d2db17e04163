import math
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Advantages, Branch, Ending, Group, RatedGroup, Scores
from handaxe.testing.make_records import make_trajectory
from handaxe.training.loop.group_play import Tried
from handaxe.training.loop.step_metrics import Clock, added_metrics, group_metrics, settle
from handaxe.training.record.groups import GroupRecord


def tried(name, outcomes, *, dead=0, advantage=1.0):
    """A rated group: one sibling an outcome, and `dead` that were never scored."""
    siblings = [make_trajectory(layouts=["UUt pp tT p"]) for _ in range(len(outcomes) + dead)]
    for i, one in enumerate(siblings):
        kind = "completed" if i < len(outcomes) else "infra_error"
        vars(one).update(id=f"{name}/{i}", ending=Ending(kind))
    alive = np.arange(len(siblings)) < len(outcomes)
    group = Group(siblings[0].task, tuple(siblings))
    part = replace(group, trajectories=group.trajectories[: len(outcomes)])
    tokens = tuple(tuple(advantage * s.mask for s in t.sequences) for t in part)
    values = np.array(outcomes, float)
    rated = RatedGroup.of(part, Scores(values, channels={"right": values > 0.5}), Advantages(tokens))
    return Tried(group, alive, alive.copy(), rated)


def test_what_became_of_each_group():
    a, b = tried("a", [1, 0], dead=1), tried("b", [1])
    c, d = tried("c", [0]), tried("d", [], dead=1)
    d.rated, d.fate = None, "dropped"
    changed = replace(
        a.rated, advantages=Advantages(tuple(tuple(9.0 * s.mask for s in t.sequences) for t in a.rated.group))
    )
    changed = replace(changed, trained=np.array([True, False]))
    old = tried("of-a-step-before", [1]).rated  # a replayed group is recorded where it was made
    records = settle([a, b, c, d], [changed, b.rated, old], [changed, old])
    assert [one.fate for one in records] == ["trained", "surplus", "unselected", "dropped"]
    assert records[0].scored.tolist() == [True, True, False] and records[0].trained.tolist() == [True, False, False]
    assert records[0].advantages.tokens[0][0].max() == 9  # as the loss saw them
    assert records[1].advantages.tokens[0][0].max() == 1 and not records[1].trained.any()
    assert records[3].scores is None and not records[3].scored.any()


def test_how_far_advantages_tell_the_parts_of_an_attempt_apart():
    """Advantages 1, 2, 3 and 2, 2, 2: 2 of the squares' 26 lie about the means. One a token is none, nor are zeros."""
    a = tried("a", [1, 0])
    rated = a.rated
    told = replace(
        rated, advantages=Advantages(((spread(rated.group[0], 1, 2, 3),), (spread(rated.group[1], 2, 2, 2),)))
    )
    assert group_metrics(settle([a], [told], [told]), {})["advantage/within"] == pytest.approx(2 / 26)
    assert group_metrics(settle([a], [rated], [rated]), {})["advantage/within"] == pytest.approx(0, abs=1e-12)
    second = tuple((np.cumsum(one.sequences[0].mask) == 2,) for one in rated.group)
    alone = replace(told, advantages=replace(told.advantages, trains=second))
    assert group_metrics(settle([a], [alone], [alone]), {})["advantage/within"] == 0.0, "of what trains"
    still = tried("b", [1, 1], advantage=0.0)
    assert group_metrics(settle([still], [still.rated], [still.rated]), {})["advantage/within"] == 0.0


def spread(one, *values):
    """Advantages of the tokens that a policy wrote, in order."""
    (sequence,) = one.sequences
    adv = np.zeros(len(sequence))
    adv[sequence.mask] = values
    return adv


def test_failures_are_counted_and_enter_no_mean():
    a, b = tried("a", [1, 0], dead=2), tried("b", [1], advantage=0.0)
    dropped = tried("c", [], dead=1)
    dropped.rated, dropped.fate = None, "unscored"
    metrics = group_metrics(settle([a, b, dropped], [a.rated, b.rated], [a.rated, b.rated]), {"sampling": 2.0})
    assert metrics["reward"] == metrics["channel/right"] == pytest.approx(2 / 3)
    assert metrics["reward_spread"] == pytest.approx(0.25)
    assert metrics["ending/completed"] == 3 and metrics["ending/infra_error"] == 3 and metrics["ending/truncated"] == 0
    assert metrics["trajectories"] == 6 and metrics["trained_share"] == 0.5
    assert metrics["groups"] == 3 and metrics["groups/trained"] == 2 and metrics["groups/unscored"] == 1
    assert metrics["groups/zero_advantage"] == 1 and metrics["groups/lone"] == 1
    assert metrics["tokens"] == 3 and metrics["turns"] == 2 and metrics["calls"] == 0
    assert metrics["seconds/sampling"] == 2
    assert metrics["tokens/sampled"] == 18 and metrics["tokens/trained"] == 9


def test_of_nothing_there_is_no_reward_rather_than_none_of_it():
    metrics = group_metrics([], {})
    assert math.isnan(metrics["reward"]) and math.isnan(metrics["calls"]) and metrics["trained_share"] == 0


def test_groups_without_a_lesson_that_did_badly():
    some = [tried("a", [1, 0]), tried("b", [1, 1], advantage=0.0), tried("c", [0, 0], advantage=0.0)]
    metrics = group_metrics(settle(some, [], []), {})
    assert metrics["groups/zero_advantage"] == 2 and metrics["groups/zero_low"] == 1
    metrics = group_metrics(settle(some[1:2], [], []), {})
    assert metrics["groups/zero_advantage"] == 1 and metrics["groups/zero_low"] == 0


def test_what_was_added_to_what_was_played():
    fresh, old = tried("a", [1, 0, 1]).rated, tried("old", [1, 1]).rated
    assert added_metrics([fresh], [fresh]) == {}
    masked = replace(old, trained=np.array([True, False]))
    assert added_metrics([fresh, masked], [fresh]) == {"added": 1.0, "added/tokens": 3.0, "added/share": 0.25}


def test_a_clock_adds_up_phases():
    clock = Clock()
    for phase in ("a", "b", "a"):
        with clock(phase):
            sum(range(1000))
    assert set(clock.seconds) == {"a", "b"} and min(clock.seconds.values()) > 0


def test_only_what_was_stopped_counts_as_stopped():
    """Cut for its length is not stopped; the means are over the stopped ones, up to the stop."""
    one = tried("a", [1], dead=2)
    vars(one.group[1]).update(ending=Ending("truncated", "stopped"))
    vars(one.group[2]).update(ending=Ending("truncated", "length"))
    metrics = group_metrics(settle([one], [one.rated], [one.rated]), {})
    assert metrics["stopped"] == 1 and metrics["stopped/share"] == pytest.approx(1 / 3)
    assert metrics["stopped/tokens"] == 3 and metrics["stopped/turns"] == 2 and metrics["ending/truncated"] == 2
    assert "stopped/tokens" not in group_metrics([], {})


def test_which_tokens_trained_is_kept_and_counted():
    """Sibling 0 of two loses its last token, the other one says nothing: all its tokens train."""
    a = tried("a", [1, 0], dead=1)
    one, other = (replace(a.rated, trained=np.array([i == 0, i == 1])) for i in range(2))
    (row,) = a.rated.group[0].sequences
    last = np.arange(len(row)) == len(row) - 1
    left_out = tuple((~last if i == 0 else np.ones(len(row), bool),) for i in range(2))
    one = replace(one, part=2, advantages=replace(one.advantages, trains=left_out))
    (record,) = settle([a], [one], [one])
    assert record.part == 2 and record.advantages.trains[0][0].tolist() == (~last).tolist()
    assert group_metrics([record], {})["tokens/trained"] == 2
    (record,) = settle([a], [other], [other])
    assert record.advantages.trains is None and group_metrics([record], {})["tokens/trained"] == 3


def test_what_turns_earn_stands_beside_the_outcome():
    a, b = tried("a", [1, 0]), tried("b", [0])
    a.rated = replace(a.rated, scores=replace(a.rated.scores, turns=(np.array([0.5, 0.25]), np.array([0.0, -0.15]))))
    metrics = group_metrics(settle([a, b], [a.rated, b.rated], [a.rated, b.rated]), {})
    assert metrics["reward"] == pytest.approx(1 / 3) and metrics["reward/turns"] == pytest.approx(0.6 / 3)
    assert metrics["reward/all"] == pytest.approx(1.6 / 3)
    assert not {"reward/turns", "reward/all"} & group_metrics(settle([b], [b.rated], [b.rated]), {}).keys()


def test_what_forks_share_was_carried_out_once():
    """b left a after its first turn, c within it; d left b, whose second turn it has, too."""
    turns = {"calls": [["f"], ["f"], []], "replies": [["1"], ["2"], []], "texts": ["", "", "2"]}
    a, b, c, d = made = [make_trajectory(**turns) for _ in range(4)]
    starts = [turn.start for turn in a.turns]
    places = {"b": Branch("a", 0, starts[1]), "c": Branch("a", 0, starts[0] + 1), "d": Branch("b", 0, starts[2])}
    for name, one in zip("abcd", made):
        vars(one).update(id=name, branch_of=places.get(name))
    group = Group(a.task, tuple(made))
    alive = np.ones(4, bool)
    record = GroupRecord(group, alive, alive)
    metrics = group_metrics([record], {})
    assert metrics["calls/made"] == metrics["calls/executed"] == 2 + 1 + 2 + 0
    assert metrics["trajectories/left"] == 2, "a, of which b shares a turn, and b; c shares no whole turn of a"
