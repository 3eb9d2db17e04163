"""Every reason is shown by a run of a step or two with a tiny policy, or, where no rollout of ours makes such tokens,
by a group that `step_record` recorded."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from helpers import training_world as world
from helpers.group_records import recorded_group

from handaxe.core.records import Advantages, Disposition, Ending, Group, RatedGroup, Scores
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.terms.kl import kl
from handaxe.papers.thor.sibling_subset import sibling_subset
from handaxe.rollouts.linear import linear
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.selection.mask_empty_turns import mask_empty_turns
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.selection.mask_repetitive import mask_repetitive
from handaxe.selection.pipe import pipe
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.training.loop.step_record import step_record
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord
from handaxe.view.why import OUTCOMES, Kind, no_gradient, outcome_class, outcome_classes, staleness_bound, why

SHORT = linear(max_turns=1)
CLIPPED = policy(ratio=token(), surrogate=clip(), reduction=token_mean())


def same(group):
    return Scores(np.ones(len(group)))


def first_only(rated):
    return list(rated)[:1]


def without_t0(rated):
    return [one for one in rated if one.group.task.id != "t0"]


def fresh_only(rated):
    newest = max((s.version.max() for one in rated for t in one.group for s in t.sequences), default=0)
    old = [[min(s.version[s.mask].min() for s in t.sequences) < newest for t in one.group] for one in rated]
    return [replace(one, trained=one.trained & ~np.array(own, bool)) for one, own in zip(rated, old)]


def at_once_or_later(request):
    """Tasks but the first take a call, and so a second step where a step is one call long."""
    first = "t0?" in world.FORMAT.decode(request.ids)
    return "3" * (1 + request.seed % 3) if first else world.calls_then_answers(request)


def above_mean(group, scores):
    return scores.outcome >= scores.outcome.mean()


def faulty():
    """Attempts at the first task and at every other one may die."""
    return world.Tasks([world.task(f"t{i}", fault=i % 2 == 0) for i in range(5)])


CASES = {
    "trained": ({}, None),
    "equal": ({"reward": same}, ("equal_group", "")),
    "equal and dropped": ({"reward": same, "select": drop_equal_groups()}, ("equal_group", "drop_equal_groups")),
    "void": (
        {"select": pipe(mask_empty_turns(answer=lambda turn: len(turn.parsed.text) > 3), drop_equal_groups())},
        ("void_turn", "mask_empty_turns"),
    ),
    "cut": ({"rollout": SHORT, "select": mask_overlong(reasons=("turns",))}, ("truncated", "mask_overlong")),
    "cut by on_ending": ({"rollout": SHORT, "on_ending": {"truncated": "mask"}}, ("truncated", "on_ending")),
    "tried again": ({"rollout": SHORT, "on_ending": {"truncated": "retry"}}, ("superseded", "")),
    "masked": ({"select": mask_repetitive(length=1, times=2)}, ("masked", "mask_repetitive")),
    "unselected": ({"select": first_only}, ("unselected", "first_only")),
    "surplus": ({"select": without_t0, "rounds": 2, "lockstep": False}, ("surplus", "")),
    "failed": ({"tasks": faulty()}, ("infra_error", "")),
    "dropped": ({"tasks": faulty(), "on_ending": {"infra_error": "drop_group"}}, ("dropped", "")),
    "undecided": ({"reward": world.undecided("/1")}, ("verifier_error", "")),
    "alone": ({"reward": world.undecided(("/1", "/2", "/3"))}, ("lone", "")),
    "stopped": ({"spare": 2}, ("stopped", "")),
    "no advantage": ({"credit": sibling_subset(world.centred, above_mean)}, ("zero_advantage", "")),
    "clipped": ({"loss": CLIPPED}, ("clipped", "")),
    "frozen": ({"epochs": 0}, ("not_updated", "")),
    "old": (
        {"engine": world.Talking(at_once_or_later), "select": fresh_only, "segment_calls": 1, "steps": 2},
        ("stale", "fresh_only"),
    ),
}


def play(folder, **changes):
    """Return the groups of a run's steps, each with whether its step took an optimiser step."""
    talking = world.Talking(world.calls_then_answers)
    train(**world.arguments(**{"engine": talking, "out": folder, "steps": 1, "credit": world.centred} | changes))
    with RunRecord.open(folder) as record:
        took = [metrics["optimiser_steps"] != 0 for metrics in record.metrics()]
        return [(one, took[step]) for step in record.steps() for one in record.groups(step=step)]


def trained_tokens(record, i, t):
    """Per sequence [T] bool, token by token: trained with an advantage, and moved by the loss."""
    place = record.place(i)
    rated = isinstance(record, RatedGroup) and place is not None
    out = []
    for s, sequence in enumerate(t.sequences):
        got = []
        for at in range(len(sequence)):
            ok = rated and bool(record.trained[place]) and bool(sequence.mask[at])
            if ok and record.advantages.trains is not None:
                ok = bool(record.advantages.trains[place][s][at])
            ok = ok and record.advantages.tokens[place][s][at] != 0
            got.append(ok and bool(record.moved[place][s][at]))
        out.append(got)
    return out


@pytest.mark.parametrize("name", CASES)
def test_a_run_says_why(name, tmp_path):
    changes, expected = CASES[name]
    played = play(tmp_path, **changes)
    found = set()
    for record, updated in played:
        for i, trajectory in enumerate(record.played.group):
            silence = why(record, i, 0 if name == "old" else None)
            found.add(silence.whole and (silence.whole.kind, silence.whole.by))
            # The property: with a reason nothing had a gradient, without one something had.
            if updated:
                got = trained_tokens(record, i, trajectory)
                assert [one.tolist() for one in silence.tokens] == got
                assert (silence.whole is None) == any(map(any, got))
                for turn, reason in zip(trajectory.turns, silence.turns, strict=True):
                    assert (reason is None) == any(got[turn.sequence][turn.start : turn.stop])
                assert [one is None for one in silence.rows] == list(map(any, got))
            else:
                assert silence.whole is not None and not any(one.any() for one in silence.tokens)
    assert expected in found, found
    if name == "trained":
        assert found == {None}


def settled(layouts, trains, *, advantages=None, outcomes=(1.0, 0.0)):
    """A group whose first attempt has this layout and whose tokens of `trains` (by author) train."""
    siblings = [replace(make_trajectory(layouts=layouts), id="a"), replace(make_trajectory(), id="b")]
    group = Group(siblings[0].task, tuple(siblings))
    tokens = tuple(tuple(np.where(s.mask, v, 0.0) for s in t.sequences) for v, t in zip((1.0, -1.0), siblings))
    kept = tuple(tuple(np.isin(s.author, trains) & s.mask for s in t.sequences) for t in siblings)
    rated = RatedGroup.of(group, Scores(np.array(outcomes)), Advantages(tokens, trains=kept))
    (record,) = step_record([rated], [rated], {t.id: tuple(s.mask for s in t.sequences) for t in siblings})
    return record


def unscored(record, decision):
    """Return the played group of a record, each rollout with this decision only."""
    return replace(record.played, dispositions=((decision,),) * len(record.played.group))


def test_turns_that_a_search_wrote_and_rows_of_an_expert():
    record = settled(["UUt pp tTt ff", "UUt xx"], trains=(3,))
    silence = why(record, 0)
    assert silence.whole is None and [one.any() for one in silence.tokens] == [True, False]
    assert [one and one.kind for one in silence.turns] == [None, "forced"]
    assert [one and one.kind for one in silence.rows] == [None, "expert"]
    everything = why(settled(["UUt ff"], trains=(3,)), 0)
    assert everything.whole.kind == everything.turns[0].kind == "forced"
    assert why(settled(["UUt x"], trains=(3,)), 0).whole.kind == "expert"
    assert why(settled(["UUt"], trains=(3,)), 0).whole.kind == "no_tokens"


def test_a_turn_without_advantage_in_an_attempt_with_one():
    record = settled(["UUt pp tTt pp"], trains=(3,))
    record.advantages.tokens[0][0][3:5] = 0
    assert [one and one.kind for one in why(record, 0).turns] == ["zero_advantage", None]
    masked = settled(["UUt pp tTt pp"], trains=(3,))
    masked.advantages.trains[0][0][3:5] = False
    assert [one and one.kind for one in why(masked, 0).turns] == ["masked", None]


def test_a_turn_that_the_loss_stopped():
    record = settled(["UUt pp tTt pp"], trains=(3,))
    moved = np.array([False] * 8 + [True] * 2)
    record = replace(record, moved=((moved,), None))
    assert [one and one.kind for one in why(record, 0).turns] == ["clipped", None]


def test_a_group_in_a_word_each():
    record = settled(["UUt ff"], trains=(3,))
    assert outcome_classes(record) == ["correct", "incorrect"] and no_gradient(record) == ["forced", ""]
    dropped = unscored(record, Disposition("dropped", "on_ending"))
    assert outcome_classes(dropped) == ["unscored"] * 2 and no_gradient(dropped) == ["dropped"] * 2
    equal = settled(["UUt pp"], trains=(), outcomes=(1.0, 1.0))
    unselected = equal.decided({one.id: Disposition("dropped", "a_selector") for one in equal.group})
    assert no_gradient(replace(unselected, trained=np.zeros(2, bool))) == ["equal group"] * 2


def test_what_the_reward_gave_no_score():
    record = settled(["UUt pp"], trains=(), outcomes=(np.nan, 1.0))
    assert why(record, 0).whole.kind == "unscored" and why(record, 1).whole.kind == "masked"
    assert why(unscored(record, Disposition("unscored", "reward")), 0).whole.kind == "unscored"


def test_a_penalty_that_moves_what_has_no_advantage_is_told(tmp_path):
    loss = policy(ratio=token(), surrogate=clip(), reduction=token_mean(), terms=(kl(coefficient=0.1),))
    engine = world.make_engine(reference=True)
    train(
        **world.arguments(
            engine=engine, reward=same, credit=world.centred, loss=loss, steps=2, out=tmp_path, annotate=("ref_logp",)
        )
    )
    with RunRecord.open(tmp_path) as record:
        (one, *_) = record.groups(step=1)
    reason = why(one, 0).whole
    assert reason.kind == "equal_group" and "KL" in reason.text


@pytest.mark.parametrize("task", ["t", "a/retry-b", "a/retry-3"])
def test_forks_of_an_attempt_that_was_tried_again(task):
    names = ("0", "0/1", "0/retry-1", "0/retry-1/1", "10")
    task = make_task(id=task)
    siblings = [make_trajectory(task=task, id=f"4/{task.id}/{name}", sample=int(name.split("/")[0])) for name in names]
    scored = np.array([False, False, True, True, False])
    record = recorded_group(Group(task, tuple(siblings)), Scores(np.array([1.0, 0.0])), scored=scored)
    kinds = [why(record, index).whole.kind for index in (0, 1, 4)]
    assert kinds == ["superseded", "superseded", "stopped"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"async_config": {"staleness": 2, "segment_tokens": None}}, 2),
        ({"async_config": {"staleness": 2, "segment_tokens": 8}}, None),
        ({"async_config": {"staleness": 2, "segment_calls": 1}}, None),
        ({"pace": {"staleness": 2, "segment_tokens": None}}, 2),  # as earlier versions wrote it
        ({}, None),
    ],
)
def test_staleness_bound_is_read_from_the_arguments_of_a_run(tmp_path, arguments, expected):
    with RunRecord(tmp_path, about={"arguments": arguments}) as record:
        assert staleness_bound(record) == expected


@pytest.mark.parametrize(
    ("ending", "total", "expected"),
    [
        (Ending("completed"), 1.0, "correct"),
        (Ending("completed"), 0.5, "incorrect"),
        (Ending("truncated", "length"), 0.0, "truncated"),
        (Ending("truncated", "length"), 0.9, "correct"),
        (Ending("truncated", "stopped"), None, "stopped"),
        (Ending("policy_error"), 0.0, "policy_error"),
        (Ending("infra_error"), None, "infra_error"),
        (Ending("verifier_error"), None, "verifier_error"),
        (Ending("completed"), None, "unscored"),
        (Ending("completed"), float("nan"), "unscored"),
    ],
)
def test_outcome_classes(ending, total, expected):
    assert outcome_class(make_trajectory(ending=ending), total) == expected
    assert expected in OUTCOMES


def test_every_reason_is_shown_here():
    shown = {expected[0] for _, expected in CASES.values() if expected is not None}
    shown |= {"expert", "forced", "no_tokens", "unscored"}  # in groups that were settled
    assert shown == set(get_args(Kind))
