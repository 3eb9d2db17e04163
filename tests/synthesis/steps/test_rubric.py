"""Rubrics of tasks: criteria by rule and by a scripted server, pass rates against a slow loop, and refusals."""

import json
import re
from collections import Counter

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, Message, Task
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.rubric_writer import AskedRubrics, RuleRubrics, reference_rubrics, seed_rubrics
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.rubric import rubric
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic

pytest.importorskip("bm25s")
WORLD = arithmetic()
ENV = WORLD.env(WORLD.tools)
DRAFTS = [task_draft(one) for one in WORLD.tasks("train", 30, 0)]
HERE = SynthesisContext(seed=0, workers=2)
ROLLOUTS = DraftRollouts(WORLD, ENV, samples=4)


def test_criteria_of_reference_calls_match_a_slow_loop():
    found = rubric(reference_rubrics(WORLD), ROLLOUTS, below=0.75).run(DRAFTS, HERE)
    reasons = Counter(one.reason for one in found)
    assert set(reasons) == {"", "every criterion is easy"} and min(reasons.values()) >= 4
    for draft, one in zip(DRAFTS, found, strict=True):
        task = draft_task(draft)
        ((group, _),) = ROLLOUTS.play([task], HERE)
        wanted = task.metadata["gold_calls"][0]["arguments"]
        called = answered = 0
        for trajectory in group:
            replies = {reply.call_id: reply.status for reply in trajectory.replies}
            calls = [call for turn in trajectory.turns for call in turn.parsed.calls]
            called += any(dict(call.arguments) == wanted and replies.get(call.id) == "ok" for call in calls)
            texts = [turn.parsed.text.strip() for turn in trajectory.turns if not turn.parsed.calls]
            answered += task.answer in texts
        rates = {"call 0": called / 4, "answer": answered / 4}
        names = [name for name, rate in rates.items() if rate < 0.75]
        assert one.reason == ("" if names else "every criterion is easy")
        if names:
            (kept,) = one.kept
            assert [row["name"] for row in kept.payload["metadata"]["rubric"]] == names
            assert kept.notes["rubric"] == {"written": 2, "kept": len(names), "rates": rates, "rollouts": 4}
            assert draft_task(kept).metadata["rubric"][0]["points"] == 1.0


def test_a_criterion_with_negative_points_stays_and_is_not_enough():
    def writer(*points):
        items = [Criterion(str(k), "x", value) for k, value in enumerate(points)]
        check = lambda one, criteria: _constant(one, [item.points < 0 or item.points == 2 for item in criteria])  # noqa: E731
        return RuleRubrics(lambda task: items, check, "fixed")

    def outcome(*points):
        (one,) = rubric(writer(*points), ROLLOUTS).run(DRAFTS[:1], HERE)
        return [row["name"] for row in one.kept[0].payload["metadata"]["rubric"]] if one.kept else one.reason

    assert outcome(1, -1) == ["0", "1"] and outcome(2, 1, -1) == ["1", "2"]
    assert outcome(2, -1) == outcome(-1) == "every criterion is easy"


def _constant(one, met):
    import numpy as np

    return np.repeat(np.array(met, bool)[:, None], len(one.turns), axis=1)


def test_a_served_model_writes_from_retrieved_rubrics_and_checks_rollouts():
    """The server writes a criterion about the calculator and one that every rollout meets; in between bad answers."""
    seen = []

    def answer(body):
        text = body["messages"][-1]["content"]
        if "Write criteria" in text:
            question = json.loads(re.search(r"^Question: (.*)$", text, re.MULTILINE)[1])
            shown = json.loads(re.search(r"a JSON object each: (.*)$", text, re.MULTILINE)[1])
            seen.append([json.loads(line) for line in shown.splitlines()])
            value = sum(map(ord, question)) % 3
            rows = [{"text": "It calls the calculator.", "points": 2}, {"text": "It has a turn.", "points": 1}]
            if value == 1:
                return reply("I refuse.")
            return reply(json.dumps({"criteria": rows if value else [{**rows[0], "points": "many"}]}))
        conversation = json.loads(text.splitlines()[2])
        met = "calculator(" in conversation if "calls the calculator" in text else True
        return reply("yes" if met else "no")

    seeds = seed_rubrics(WORLD, reference_rubrics(WORLD), count=12, seed=7)
    with ChatServer(answer) as server:
        engine = OpenAICompatible(server.url, model="m", format=Transcript(), attempts=1, timeout=5.0)
        writer = AskedRubrics(AskDesk(PolicyAnswerer(engine, Transcript(), name="served")), seeds, cases=2)
        found = rubric(writer, ROLLOUTS, below=0.8).run(DRAFTS, HERE)
        engine.close()
    assert all(len(one) == 2 and set(one[0]) == {"question", "criteria"} for one in seen)
    reasons = Counter(one.reason for one in found)
    assert set(reasons) == {"", "no answer: unreadable", "criteria of another form", "every criterion is easy"}
    for draft, one in zip(DRAFTS, found, strict=True):
        value = sum(map(ord, draft.payload["messages"][0]["content"])) % 3
        if value != 2:
            assert one.reason == ("no answer: unreadable" if value else "criteria of another form")
            continue
        ((group, _),) = ROLLOUTS.play([draft_task(draft)], HERE)
        rate = sum(any(turn.parsed.calls for turn in each.turns) for each in group) / 4
        assert one.reason == ("" if rate < 0.8 else "every criterion is easy"), rate
        assert {call["role"] for call in one.asked} == {"rubric writer", "judge"}
        if one.kept:
            rows = one.kept[0].payload["metadata"]["rubric"]
            assert rows == [{"name": "1", "text": "It calls the calculator.", "points": 2.0}]
    assert writer.settings["prompt"].startswith("rubric@1 ") and writer.settings["cases"] == 2


def test_a_world_without_reference_calls_and_numbers_out_of_range_are_refused():
    for below in (0.0, 1.1):
        with pytest.raises(InputError, match="below is"):
            rubric(reference_rubrics(WORLD), ROLLOUTS, below=below)
    with pytest.raises(InputError, match="cases is -1"):
        AskedRubrics(AskDesk(None), [], cases=-1)
    with pytest.raises(InputError, match="one case or more"):
        AskedRubrics(AskDesk(None), [], cases=1)


def test_a_rubric_survives_as_metadata():
    task = Task("", (Message("user", "q"),), "1", None, {"rubric": [{"name": "1", "text": "x", "points": 1.0}]})
    assert draft_task(task_draft(task)).metadata == task.metadata
