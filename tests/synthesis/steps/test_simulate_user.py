"""Simulated users: personas by draw, goals by a scripted model, and goals that the expert does not reach."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message
from handaxe.rewards.outcome import outcome
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.simulate_user import UserScenes, simulate_user
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic

HERE = SynthesisContext(seed=0, workers=2)
WORLD = arithmetic()
ENV = WORLD.env(WORLD.tools)
DRAFTS = [task_draft(one) for one in WORLD.tasks("train", 30, 0)]
PERSONAS = ("calm", "hasty")


def make(task, persona, goals):
    """A user of the world of sums asks for one expression; the expert computes that of the task alone."""
    if len(goals) != 1:
        raise TaskError("one goal")
    own = {**task.metadata, "persona": persona}
    return replace(
        task, messages=(Message("user", f"{persona}: {goals[0]}?"),), answer=str(eval(goals[0])), metadata=own
    )


SCENES = UserScenes(lambda task: [task.metadata["expression"]], make, "one sum")


def outcomes(drafts, **options):
    return simulate_user(WORLD, ENV, SCENES, personas=PERSONAS, **options).run(drafts, HERE)


def test_a_rule_draws_personas_and_the_expert_reaches_the_goals():
    found = outcomes(DRAFTS)
    drawn = Counter(one.kept[0].notes["user"]["persona"] for one in found)
    assert set(drawn) == set(PERSONAS) and min(drawn.values()) >= 5 and sum(drawn.values()) == 30
    for draft, one in zip(DRAFTS, found, strict=True):
        (kept,) = one.kept
        task = draft_task(kept)
        assert task.messages[0].content == f"{task.metadata['persona']}: {task.metadata['expression']}?"
        assert kept.notes["user"]["goals"] == 1 and kept.parents == (draft.id,)
        assert kept.notes["user"]["turns"] == len(draft.payload["calls"] if "hard" in str(draft.payload) else []) + 1
    assert outcomes(DRAFTS[::-1]) == found[::-1]


def test_goals_that_the_expert_does_not_reach_are_dropped():
    """An oracle that refuses hasty users: a draft is kept exactly if a calm user was drawn."""
    strict = replace(WORLD, correct=outcome(lambda one: float(one.task.metadata["persona"] == "calm")))
    found = simulate_user(strict, ENV, SCENES, personas=PERSONAS).run(DRAFTS, HERE)
    for one, free in zip(found, outcomes(DRAFTS), strict=True):
        calm = free.kept[0].notes["user"]["persona"] == "calm"
        assert one.reason == ("" if calm else "the expert does not reach the goals")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"persona": "hasty", "goals": ["EXPRESSION"]}, ""),
        ({"persona": "hasty", "goals": [" EXPRESSION "]}, ""),
        ({"persona": "angry", "goals": ["EXPRESSION"]}, "unknown persona"),
        ({"persona": "calm", "goals": []}, "goals of another form"),
        ({"persona": "calm", "goals": [3]}, "goals of another form"),
        ({"persona": "calm", "goals": ["1", "2"]}, "unknown goals"),
        ({"persona": "calm"}, "no answer: unreadable"),
    ],
)
def test_answers_of_a_model(answer, reason):
    expression = DRAFTS[0].payload["metadata"]["expression"]
    desk = scripted_desk(json.dumps(answer).replace("EXPRESSION", expression))
    (one,) = outcomes(DRAFTS[:1], desk=desk)
    assert one.reason == reason and one.asked[0]["role"] == "user writer"
    (ask,) = desk.answerer.asks
    assert dict(ask.fields) == {"personas": "calm, hasty", "example": json.dumps([expression])}
    if not reason:
        assert draft_task(one.kept[0]).metadata["persona"] == "hasty"


def test_personas_and_tries_are_checked():
    for wrong in ({"personas": ()}, {"personas": PERSONAS, "tries": 0}):
        with pytest.raises(InputError, match="one persona or more and tries from 1"):
            simulate_user(WORLD, ENV, SCENES, **wrong)
