"""Votes of solvers: bands of the majority and of the correct answers, by rule, rollouts and a scripted server."""

import json
import re
from collections import Counter

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.errors import InputError
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.solvers import Solver, SolverAnswers, asked_solver, rollout_solver, rule_solver
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.answer_votes import answer_votes
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
ENV = WORLD.env(WORLD.tools)
DRAFTS = [task_draft(one) for one in WORLD.tasks("train", 40, 0)]
HERE = SynthesisContext(seed=0, workers=2)


def solver_of(texts, correct):
    return Solver(lambda drafts, at: [SolverAnswers(texts, correct)] * len(drafts), {"by": "fixed"})


@pytest.mark.parametrize(
    ("of", "low", "high", "reason"),
    [
        ("majority", 0.5, 0.5, ""),
        ("majority", 0.6, 1.0, "too few votes"),
        ("majority", 0.0, 0.4, "too many votes"),
        ("answer", 0.25, 0.25, ""),
        ("answer", 0.3, 1.0, "too few votes"),
        ("answer", 0.0, 0.0, "too many votes"),
    ],
)
def test_the_example_of_two_sevens_a_nine_and_none(of, low, high, reason):
    found = solver_of(("7", "9", "7", ""), (False, True, False, False))
    (one,) = answer_votes(found, of=of, low=low, high=high).run(DRAFTS[:1], HERE)
    assert one.reason == reason
    if not reason:
        share = 0.5 if of == "majority" else 0.25
        assert one.kept[0].notes["answer_votes"] == {"share": share, "voted": "7", "answers": 4, "by": "fixed"}


def test_a_draft_without_an_answer_is_dropped_as_unscored():
    (one,) = answer_votes(solver_of((), ())).run(DRAFTS[:1], HERE)
    assert one.reason == "unscored"


def test_rollouts_of_the_rule_match_a_slow_loop():
    rollouts = DraftRollouts(WORLD, ENV, samples=4)
    outcomes = answer_votes(rollout_solver(rollouts), of="answer", low=0.25, high=0.75).run(DRAFTS, HERE)
    reasons = Counter(one.reason for one in outcomes)
    assert set(reasons) == {"", "too many votes"} | (set(reasons) & {"too few votes"}) and reasons[""] >= 8
    for draft, outcome in zip(DRAFTS, outcomes, strict=True):
        ((group, scores),) = rollouts.play([draft_task(draft)], HERE)  # alone: a rollout depends on its own task
        right = [one.final_text.strip() == draft.payload["answer"] for one in group]
        assert [value > 0.5 for value in scores.outcome] == right
        share = sum(right) / 4
        assert outcome.reason == ("too few votes" if share < 0.25 else "too many votes" if share > 0.75 else "")


def test_a_rule_answers_once():
    known = {draft.payload["messages"][0]["content"] for draft in DRAFTS[:10]}
    rule = rule_solver(WORLD, lambda task: task.answer if task.messages[0].content in known else "", name="ten")
    found = answer_votes(rule, of="answer", high=0.0).run(DRAFTS, HERE)
    assert [bool(one.reason) for one in found] == [True] * 10 + [False] * 30


def test_a_served_model_answers_directly():
    """Of four samples of a question the first three are correct for even products, and the first is for odd ones."""
    seen = Counter()

    def answer(body):
        text = json.loads(body["messages"][-1]["content"].splitlines()[1])
        left, sign, right = re.search(r"(\d+)\D*?([*+-])\D*?(\d+)", text).groups()
        seen[text] += 1
        value = eval(f"{left}{sign}{right}")
        return reply(str(value) if seen[text] <= (1 if value % 2 else 3) else "17")

    with ChatServer(answer) as server:
        engine = OpenAICompatible(server.url, model="m", format=Transcript(), attempts=1, timeout=5.0)
        desk = AskDesk(PolicyAnswerer(engine, Transcript(), name="served"))
        solver = asked_solver(WORLD, desk, samples=4)
        simple = [
            one for one in DRAFTS if re.fullmatch(r"\D*\d+\D*[*+-]\D*\d+\D*", one.payload["messages"][0]["content"])
        ]
        found = answer_votes(solver, of="answer", low=0.5).run(simple[:20], HERE)
        engine.close()
    for draft, one in zip(simple, found):
        even = int(draft.payload["answer"]) % 2 == 0
        assert one.reason == ("" if even else "too few votes") and len(one.asked) == 4
        assert all(call["role"] == "solver" and call["prompt"] == "answer@1" for call in one.asked)
    assert {bool(one.reason) for one in found} == {True, False}


def test_a_band_and_samples_are_checked():
    for band in ({"low": 0.6, "high": 0.5}, {"high": 1.5}):
        with pytest.raises(InputError, match="0 <= low <= high <= 1"):
            answer_votes(solver_of((), ()), **band)
    with pytest.raises(InputError, match="samples is 0"):
        asked_solver(WORLD, AskDesk(None), samples=0)
