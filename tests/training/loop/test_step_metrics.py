import math
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.images import Image
from handaxe.core.records import (
    Advantages,
    Branch,
    Disposition,
    Ending,
    Group,
    Message,
    PlayedGroup,
    RatedGroup,
    ScoredGroup,
    Scores,
)
from handaxe.ops.ragged import scatter, token_turn_indices
from handaxe.selection.parts.dispositions import drop
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.training.loop.select import Selection
from handaxe.training.loop.step_metrics import Clock, added_metrics, group_metrics
from handaxe.training.loop.step_record import step_record
from handaxe.training.record.groups import group_fate, is_trained


def rated(name, outcomes, *, dead=0, advantage=1.0):
    """A rated group: one sibling an outcome, and `dead` that were never scored."""
    siblings = [make_trajectory(layouts=["UUt pp tT p"]) for _ in range(len(outcomes) + dead)]
    for i, one in enumerate(siblings):
        kind = "completed" if i < len(outcomes) else "infra_error"
        vars(one).update(id=f"{name}/{i}", ending=Ending(kind))
    group = Group(siblings[0].task, tuple(siblings))
    histories = ((),) * len(outcomes) + ((Disposition("unscored", "infra_error"),),) * dead
    part = replace(group, trajectories=group.trajectories[: len(outcomes)])
    tokens = tuple(tuple(advantage * s.mask for s in t.sequences) for t in part)
    values = np.array(outcomes, float)
    scored = ScoredGroup(PlayedGroup(group, histories), part, Scores(values, channels={"right": values > 0.5}))
    return RatedGroup(scored, Advantages(tokens), np.ones(len(outcomes), bool))


def unscored(name, kind="infra_error", *, by_ending=False):
    """A group of one rollout without a score; a treatment of endings dropped it, or not."""
    one = rated(name, [], dead=1).played
    return one.decided({f"{name}/0": Disposition("dropped", "on_ending")}) if by_ending else one


def test_what_became_of_each_group():
    a, b, c, d = rated("a", [1, 0], dead=1), rated("b", [1]), rated("c", [0]), unscored("d", by_ending=True)
    changed = replace(a, advantages=Advantages(tuple(tuple(9.0 * s.mask for s in t.sequences) for t in a.group)))
    changed = replace(changed, trained=np.array([True, False]))
    old = rated("of-a-step-before", [1])  # a replayed group is recorded where it was made
    changed, b_cut, old_again = Selection(list, 1).without_surplus([changed, b, old], [a, b, c])
    assert old_again is old and not b_cut.live
    moved = {"a/0": tuple(s.mask for s in a.group[0].sequences)}
    records = step_record([a, b, c, d], [changed, old, b_cut, drop(c, by="lowest")], moved)
    assert [group_fate(one) for one in records] == ["trained", "surplus", "unselected", "dropped"]
    assert [one.live for one in records[:3]] == [True, False, False]
    assert [records[0].place(i) for i in range(3)] == [0, 1, None]
    assert [is_trained(records[0], i) for i in range(3)] == [True, False, False]
    assert records[0].played.dispositions == ((Disposition("trained"),), (), (Disposition("unscored", "infra_error"),))
    assert records[1].dispositions == ((Disposition("surplus", "rounds"),),)
    assert records[2].dispositions == ((Disposition("dropped", "lowest"),),)
    assert records[0].advantages.tokens[0][0].max() == 9  # as the loss saw them
    assert records[1].advantages.tokens[0][0].max() == 1 and not records[1].trained.any()
    assert records[3] is d and d.scores is None and d.place(0) is None


def test_step_record_keeps_moved_tokens_and_the_longest_history():
    a, b = rated("a", [1, 0]), rated("b", [1])
    masked = replace(a, trained=np.array([True, False])).decided({"a/1": Disposition("masked", "mask_overlong")})
    mask = a.group[0].sequences[0].mask
    first, second = step_record([a, b], [masked, a, b], {"a/0": (mask,)})
    assert first.dispositions == ((Disposition("trained"),), (Disposition("masked", "mask_overlong"),))
    assert first.moved[0][0] is mask and first.moved[1] is None and second.moved == (None,)
    assert second.dispositions == ((),), "no optimiser step saw it"
    unwatched, _ = step_record([a, b], [masked, b])
    assert unwatched.moved is None and unwatched.dispositions[0] == ()


def test_step_record_adds_up_the_advantages_of_a_rollout_that_trains_twice():
    a = rated("a", [1, 0])
    other = replace(a, trained=np.array([True, False]), advantages=replace(a.advantages, tokens=ten(a)))
    (record,) = step_record([a], [a, other])
    assert record.advantages.tokens[0][0].max() == 11 and record.advantages.tokens[1][0].max() == 1
    assert record.trained.tolist() == [True, True]


def ten(one):
    return tuple(tuple(10.0 * s.mask for s in t.sequences) for t in one.group)


def test_how_far_advantages_tell_the_parts_of_an_attempt_apart():
    """Advantages 1, 2, 3 and 2, 2, 2: 2 of the squares' 26 lie about the means. One a token is none, nor are zeros."""
    a = rated("a", [1, 0])
    varied = replace(a, advantages=Advantages(((spread(a.group[0], 1, 2, 3),), (spread(a.group[1], 2, 2, 2),))))
    assert group_metrics(step_record([a], [varied]), {})["advantage/within"] == pytest.approx(2 / 26)
    assert group_metrics(step_record([a], [a]), {})["advantage/within"] == pytest.approx(0, abs=1e-12)
    second = tuple((np.cumsum(one.sequences[0].mask) == 2,) for one in a.group)
    alone = replace(varied, advantages=replace(varied.advantages, trains=second))
    assert group_metrics(step_record([a], [alone]), {})["advantage/within"] == 0.0, "of what trains"
    still = rated("b", [1, 1], advantage=0.0)
    assert group_metrics(step_record([still], [still]), {})["advantage/within"] == 0.0


def test_share_of_advantages_that_the_number_of_the_turn_explains():
    """Turns 0 and 1 have means 2 and -1; of the squares' 12, 2 * 4 + 2 * 1 are in the means."""
    group = make_group(layouts=["UtpUtp", "UtpUtp"])
    values = ((3.0, -1.0), (1.0, -1.0))
    tokens = tuple(scatter(one, np.array(own)[token_turn_indices(one)]) for one, own in zip(group, values, strict=True))
    one = replace(make_rated(group=group, outcome=[1, 0]), advantages=Advantages(tokens))
    assert group_metrics(step_record([one], [one]), {})["advantage/turn_index"] == pytest.approx(10 / 12)
    centred = tuple(
        scatter(one_t, np.array([x, -x])[token_turn_indices(one_t)]) for one_t, x in zip(group, (1.0, -1.0))
    )
    level = replace(one, advantages=Advantages(centred))
    assert group_metrics(step_record([level], [level]), {})["advantage/turn_index"] == pytest.approx(0, abs=1e-12)


def test_scale_spread_is_0_for_groups_of_one_scale():
    """Root mean squares 1 and 3 of two groups: standard deviation 1 over mean 2; a group without advantages is none."""
    a, b, still = rated("a", [1, 0]), rated("b", [1, 0], advantage=3.0), rated("c", [1, 1], advantage=0.0)
    assert group_metrics(step_record([a, b, still], [a, b, still]), {})["advantage/scale_spread"] == pytest.approx(0.5)
    both = Advantages((a.advantages.tokens[0], tuple(-3.0 * x for x in a.advantages.tokens[1])))
    mixed = replace(a, advantages=both)  # 1 and -3: 5 ** 0.5, beside 3
    slow = [math.sqrt((1 + 9) / 2), 3.0]
    mean = sum(slow) / 2
    want = math.sqrt(sum((x - mean) ** 2 for x in slow) / 2) / mean
    assert group_metrics(step_record([a, b], [mixed, b]), {})["advantage/scale_spread"] == pytest.approx(want)
    assert group_metrics(step_record([a], [a]), {})["advantage/scale_spread"] == 0.0
    assert group_metrics(step_record([still], [still]), {})["advantage/scale_spread"] == 0.0


def test_masked_rollouts_are_counted_once():
    a, b = rated("a", [1, 0]), rated("b", [1])
    twice = a.decided({"a/1": Disposition("masked", "mask_overlong")}).decided({"a/1": Disposition("masked", "other")})
    metrics = group_metrics(step_record([a, b], [twice, drop(b, by="lowest")]), {})
    assert metrics["trajectories/masked"] == 1.0
    assert group_metrics(step_record([a, b], [a, b]), {})["trajectories/masked"] == 0.0


def spread(one, *values):
    """Advantages of the tokens that a policy wrote, in order."""
    (sequence,) = one.sequences
    adv = np.zeros(len(sequence))
    adv[sequence.mask] = values
    return adv


def test_failures_are_counted_and_enter_no_mean():
    a, b = rated("a", [1, 0], dead=2), rated("b", [1], advantage=0.0)
    metrics = group_metrics(step_record([a, b, unscored("c")], [a, b]), {"sampling": 2.0})
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
    some = [rated("a", [1, 0]), rated("b", [1, 1], advantage=0.0), rated("c", [0, 0], advantage=0.0)]
    metrics = group_metrics(step_record(some, []), {})
    assert metrics["groups/zero_advantage"] == 2 and metrics["groups/zero_low"] == 1
    metrics = group_metrics(step_record(some[1:2], []), {})
    assert metrics["groups/zero_advantage"] == 1 and metrics["groups/zero_low"] == 0


def test_what_was_added_to_what_was_played():
    fresh, old = rated("a", [1, 0, 1]), rated("old", [1, 1])
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
    one = rated("a", [1], dead=2)
    vars(one.played.group[1]).update(ending=Ending("truncated", "stopped"))
    vars(one.played.group[2]).update(ending=Ending("truncated", "length"))
    metrics = group_metrics(step_record([one], [one]), {})
    assert metrics["stopped"] == 1 and metrics["stopped/share"] == pytest.approx(1 / 3)
    assert metrics["stopped/tokens"] == 3 and metrics["stopped/turns"] == 2 and metrics["ending/truncated"] == 2
    assert "stopped/tokens" not in group_metrics([], {})


def test_which_tokens_trained_is_kept_and_counted():
    """Sibling 0 of two loses its last token, the other one says nothing: all its tokens train."""
    a = rated("a", [1, 0], dead=1)
    one, other = (replace(a, trained=np.array([i == 0, i == 1])) for i in range(2))
    (row,) = a.group[0].sequences
    last = np.arange(len(row)) == len(row) - 1
    left_out = tuple((~last if i == 0 else np.ones(len(row), bool),) for i in range(2))
    one = replace(one, part=2, advantages=replace(one.advantages, trains=left_out))
    (record,) = step_record([a], [one])
    assert record.part == 2 and record.advantages.trains[0][0].tolist() == (~last).tolist()
    assert group_metrics([record], {})["tokens/trained"] == 2
    (record,) = step_record([a], [other])
    assert record.advantages.trains is None and group_metrics([record], {})["tokens/trained"] == 3


def test_what_turns_earn_stands_beside_the_outcome():
    a, b = rated("a", [1, 0]), rated("b", [0])
    a = a.with_group(a.group, replace(a.scores, turns=(np.array([0.5, 0.25]), np.array([0.0, -0.15]))))
    metrics = group_metrics(step_record([a, b], [a, b]), {})
    assert metrics["reward"] == pytest.approx(1 / 3) and metrics["reward/turns"] == pytest.approx(0.6 / 3)
    assert metrics["reward/all"] == pytest.approx(1.6 / 3)
    assert not {"reward/turns", "reward/all"} & group_metrics(step_record([b], [b]), {}).keys()


def test_what_forks_share_was_carried_out_once():
    """b left a after its first turn, c within it; d left b, whose second turn it has, too."""
    turns = {"calls": [["f"], ["f"], []], "replies": [["1"], ["2"], []], "texts": ["", "", "2"]}
    a, b, c, d = made = [make_trajectory(**turns) for _ in range(4)]
    starts = [turn.start for turn in a.turns]
    places = {"b": Branch("a", 0, starts[1]), "c": Branch("a", 0, starts[0] + 1), "d": Branch("b", 0, starts[2])}
    for name, one in zip("abcd", made):
        vars(one).update(id=name, branch_of=places.get(name))
    metrics = group_metrics([PlayedGroup(Group(a.task, tuple(made)))], {})
    assert metrics["calls/made"] == metrics["calls/executed"] == 2 + 1 + 2 + 0
    assert metrics["trajectories/left"] == 2, "a, of which b shares a turn, and b; c shares no whole turn of a"


def with_critic(values, returns):
    """One sibling of three policy tokens with these values of the critic and these targets."""
    one = rated("a", [1.0])
    trajectory = one.group[0]
    sequence = trajectory.sequences[0]
    value, target = np.zeros(len(sequence)), np.zeros(len(sequence))
    places = np.flatnonzero(sequence.mask)
    value[places], target[places] = values[: len(places)], returns[: len(places)]
    vars(trajectory).update(sequences=(replace(sequence, features={"value": value}),))
    return replace(one, advantages=replace(one.advantages, returns=((target,),)))


def test_explained_variance_is_the_critics_share_of_the_targets_variance():
    """Targets 0, 1, 2 have variance 2/3; errors 0, 1, 1 have variance 2/9: 1 - 1/3 = 2/3."""

    def explained(values, returns):
        return group_metrics([with_critic(values, returns)], {}).get("value/explained_variance")

    assert explained([0, 0, 1], [0, 1, 2]) == pytest.approx(2 / 3)
    assert explained([0, 1, 2], [0, 1, 2]) == 1.0 and explained([5, 5, 5], [0, 1, 2]) == 0.0
    assert explained([0, 1, 2], [2, 2, 2]) is None, "constant targets have no variance"
    assert "value/explained_variance" not in group_metrics([rated("a", [1.0])], {})


def test_images_are_counted_beside_the_tokens_of_the_policy():
    """Of two rollouts one has two images, the first twice, each time of one token."""
    red, blue = (Image.of(np.full((2, 2, 3), shade, np.uint8)) for shade in (1, 2))
    one = rated("a", [1.0, 0.0])
    plain, seen = one.group
    ids = np.array([*red.ids(1), *blue.ids(1), *red.ids(1)])
    first = seen.sequences[0]
    off = np.flatnonzero(~first.mask)[:3]
    changed = first.ids.astype(np.int64)
    changed[off] = ids[: len(off)]
    messages = (Message.of("user", red, blue), Message.of("user", red))
    shown = replace(seen, messages=messages, sequences=(replace(first, ids=changed), *seen.sequences[1:]))
    group = replace(one.group, trajectories=(plain, shown))
    found = group_metrics([one.with_group(group)], {})
    assert (found["images"], found["image_tokens"]) == (1.0, len(off) / 2)
    assert found["tokens"] == group_metrics([one], {})["tokens"] and "images" not in group_metrics([one], {})
