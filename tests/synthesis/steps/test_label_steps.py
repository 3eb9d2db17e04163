"""Labels of steps by rule and judge, against a slow loop."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from helpers.chat_server import ChatServer, reply
from helpers.desks import scripted_desk

from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.errors import InputError
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.synthesis.draft_groups import group_rollouts
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.label_steps import label_steps
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.fact_chains import fact_chains, step_verdicts

WORLD = fact_chains()
ROLLOUTS = DraftRollouts(WORLD, WORLD.env(WORLD.tools), samples=3)
DRAFTS = [task_draft(one) for one in WORLD.tasks("train", 20, 0)]
HERE = SynthesisContext(seed=0, workers=2)


def test_labels_of_the_rule_match_a_slow_loop():
    found = label_steps(ROLLOUTS).run(DRAFTS, HERE)
    every = Counter()
    for draft, one in zip(DRAFTS, found, strict=True):
        ((group, scores),) = ROLLOUTS.play([draft_task(draft)], HERE)
        rows = group_rollouts(one.kept[0])
        assert [row.label for row in rows] == list(scores.outcome)
        for trajectory, row in zip(group, rows, strict=True):
            verdicts = step_verdicts(trajectory)
            assert [(turn, label) for turn, _, label in row.steps] == [(k, v) for k, v in enumerate(verdicts) if v]
            for turn, text, label in row.steps:
                assert row.text.startswith(text) and text.count("assistant: ") == turn + 1
                every[label] += 1
        count = sum(len(row.steps) for row in rows)
        assert one.kept[0].notes["steps"] == {"rule": count, "kept": count}
    assert min(every[1], every[-1]) >= 10


def test_a_served_judge_keeps_the_labels_it_agrees_with():
    """The judge finds every call correct, and every answer incorrect."""

    def answer(body):
        conversation = json.loads(body["messages"][-1]["content"].splitlines()[2])
        last = re.findall(r"^assistant: .*", conversation, re.MULTILINE)[-1]
        return reply("yes" if "({" in last else "no")

    with ChatServer(answer) as server:
        engine = OpenAICompatible(server.url, model="m", format=Transcript(), attempts=1, timeout=5.0)
        step = label_steps(ROLLOUTS, desk=AskDesk(PolicyAnswerer(engine, Transcript(), name="served")))
        found = step.run(DRAFTS, HERE)
        engine.close()
    alone, kinds = label_steps(ROLLOUTS).run(DRAFTS, HERE), set()
    for one, rule in zip(found, alone, strict=True):
        before = [own for row in group_rollouts(rule.kept[0]) for own in row.steps]
        wanted = [own for own in before if ("({" in own[1].split("assistant: ")[-1]) == (own[2] > 0)]
        assert [own for row in group_rollouts(one.kept[0]) for own in row.steps] == wanted
        assert one.kept[0].notes["steps"] == {"rule": len(before), "kept": len(wanted)}
        assert len(one.asked) == len(before) and one.asked[0]["prompt"] == "step@1"
        kinds |= {len(wanted) == len(before)}
    assert False in kinds and step.settings["judge"]["prompt"].startswith("step@1 ")


def test_a_judge_without_a_verdict_agrees_with_nothing():
    found = label_steps(ROLLOUTS, desk=scripted_desk("perhaps")).run(DRAFTS[:3], HERE)
    assert [one.reason for one in found] == ["rule and judge disagree"] * 3 and all(one.asked for one in found)


def test_a_world_without_verdicts_is_refused_and_verdicts_of_0_label_nothing():
    other = arithmetic()
    with pytest.raises(InputError, match="verdicts"):
        label_steps(DraftRollouts(other, other.env(other.tools)))
    silent = replace(WORLD, verdicts=lambda one: 0 * step_verdicts(one))
    found = label_steps(DraftRollouts(silent, WORLD.env(WORLD.tools), samples=2)).run(DRAFTS[:2], HERE)
    assert [one.reason for one in found] == ["no step is judged"] * 2
