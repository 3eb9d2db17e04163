"""The pipeline: funnel by rule, a second run, a model's environment, and refusals."""

import json

import pytest
from helpers.desks import scripted_desk

from handaxe.core.errors import InputError
from handaxe.papers.ftrl.built_chains import built_chains
from handaxe.papers.ftrl.ftrl_environments import ftrl_environments
from handaxe.papers.ftrl.toolchains import SCENARIOS
from handaxe.synthesis.context import PipelineContext
from handaxe.worlds.arithmetic import arithmetic

WORLD = built_chains(size=60)
CONTEXT = PipelineContext(WORLD, "", WORLD.env(()), WORLD.tasks("test", 10, 0))
DOCUMENT = {"name": "head", "description": "Head.", "parameters": {"firm": "name"}, "arguments": {"firm": "Oslo"}}


def test_environments_of_four_kinds_are_built_and_read_by_the_world(tmp_path):
    report = ftrl_environments(CONTEXT, batch=24, size=60).run(out=tmp_path, count=20)
    assert {one.payload["metadata"]["scenario"] for one in report.drafts} == set(SCENARIOS)
    notes = [one.notes for one in report.drafts]
    assert sum(one["merged"] for one in notes) > 0 and sum(one["scaled"] for one in notes) > 0
    world = built_chains(file=str(tmp_path / "tasks.jsonl"), size=60)
    read = world.tasks("train", 50, 0)
    assert len(read) == 20 and {one.messages[0].content for one in read} == {
        one.payload["messages"][0]["content"] for one in report.drafts
    }
    env = world.env(())(read[0])
    assert {one.name for one in env.start()[1]} == set(read[0].tools)
    env.close()
    again = ftrl_environments(CONTEXT, batch=24, size=60).run(out=tmp_path, count=20)
    assert again.computed == 0 and again.drafts == report.drafts


def answers(code):
    """The first draft is of kind single: one step, one tool."""
    step = {"question": "Who leads Oslo?", "answer": "Kemi"}
    found = {"decompose": {"question": "Who leads Oslo?", "answer": "Kemi", "steps": [step]}, "document": DOCUMENT,
             "deploy": {"code": code}}  # fmt: skip
    return scripted_desk(lambda ask: json.dumps(found[ask.role]))


def run(code, tmp_path):
    context = CONTEXT._replace(desk=answers(code))
    return ftrl_environments(context, batch=1, size=60).run(out=tmp_path, count=1, most_rounds=1)


def test_a_model_s_environment_is_executed(tmp_path):
    report = run("def head(firm):\n    return {'Oslo': 'Kemi'}[firm]", tmp_path)
    (draft,) = report.drafts
    tool = draft.payload["metadata"]["environment"]["head"]
    assert "'Oslo': 'Kemi'" in tool["code"] and draft.payload["calls"] == [
        {"name": "head", "arguments": {"firm": "Oslo"}}
    ]
    assert set(report.card["cost"]) == {"decompose", "document", "deploy"}


@pytest.mark.parametrize("code", ["def head(firm):\n    return 'Ida'", "def head(", "import os\ndef head(firm): 1"])
def test_code_that_gives_another_result_is_dropped(code, tmp_path):
    report = run(code, tmp_path)
    reasons = {one["name"]: one["reasons"] for one in report.card["steps"]}
    assert not report.drafts and reasons["deploy"] == {"a call has another result": 1}


def test_wrong_input():
    other = arithmetic()
    with pytest.raises(InputError, match="of the world built_chains, not arithmetic"):
        ftrl_environments(PipelineContext(other, "", other.env(()), other.tasks("test", 5, 0)))
    with pytest.raises(InputError, match="distractors 0 to 4"):
        ftrl_environments(CONTEXT, distractors=5)
