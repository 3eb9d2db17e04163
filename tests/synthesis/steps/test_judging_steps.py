"""Judging tasks about steps: balance by place, origin, and rationales."""

from collections import Counter
from dataclasses import replace

from helpers.desks import scripted_desk

from handaxe.synthesis.draft_groups import LabelledRollout, group_draft
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.decontaminate import decontaminate
from handaxe.synthesis.steps.judging_steps import judging_steps
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.fact_chains import fact_chains

WORLD = fact_chains()
HERE = SynthesisContext(seed=0, workers=2)


def group(number, *steps):
    draft = task_draft(replace(WORLD.tasks("train", 1, number)[0], id=""))
    return group_draft(draft, [LabelledRollout("text", 1.0, "hidden-source", steps)])


def test_steps_of_a_number_are_correct_as_often_as_incorrect():
    drafts = [group(n, (0, f"a{n}", 1)) for n in range(30)] + [group(n, (0, f"b{n}", -1)) for n in range(30, 40)]
    drafts += [group(n, (1, f"c{n}", -1)) for n in range(40, 45)] + [group(46)]
    found = judging_steps().run(drafts, HERE)
    assert Counter(one.reason for one in found) == {"": 20, "the place would tell": 25, "no labelled step": 1}
    texts = [
        (one.kept[0].payload["messages"][0]["content"], one.kept[0].payload["answer"]) for one in found if one.kept
    ]
    assert Counter(answer for _, answer in texts) == {"yes": 10, "no": 10}
    assert all(('"a' in text) == (answer == "yes") and "hidden" not in text for text, answer in texts)
    assert judging_steps().run(drafts[::-1], HERE) == found[::-1]


def test_a_task_about_a_step_of_a_test_task_is_dropped():
    found = judging_steps().run([group(1, (0, "a", 1)), group(2, (0, "b", -1))], HERE)
    tests = [WORLD.tasks("train", 1, 1)[0]]
    assert [decontaminate(tests).run(one.kept, HERE)[0].reason for one in found] == ["a test task", ""]


def test_a_model_gives_rationales_of_steps():
    verdicts = [f'{{"rationale": "It reads a fact.", "verdict": "{one}"}}' for one in ("yes", "no")]
    found = judging_steps(desk=scripted_desk(*verdicts)).run([group(1, (0, "a", 1)), group(2, (0, "b", -1))], HERE)
    assert [one.reason for one in found] == ["", ""]
    assert all(one.kept[0].payload["metadata"] == {"rationale": "It reads a fact."} for one in found)


def test_a_model_that_says_yes_to_every_step_leaves_no_task():
    desk = scripted_desk(*['{"rationale": "It reads a fact.", "verdict": "yes"}'] * 2)
    found = judging_steps(desk=desk).run([group(1, (0, "a", 1)), group(2, (0, "b", -1))], HERE)
    assert [one.reason for one in found] == ["verdicts would tell", "another verdict"]
