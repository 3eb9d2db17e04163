import json

import pytest
from helpers.desks import scripted_desk

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.rubric_writer import AskedRubrics, reference_rubrics, seed_rubrics
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.task_drafts import draft_task, draft_text, task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
DRAFTS = [task_draft(one) for one in WORLD.tasks("train", 3, 0)]


def test_the_rule_writes_a_criterion_for_the_call_and_one_for_the_answer():
    writer = reference_rubrics(WORLD)
    for found in writer.write(DRAFTS):
        assert [one.name for one in found.criteria] == ["call 0", "answer"] and not found.asked
    rollouts = DraftRollouts(WORLD, WORLD.env(WORLD.tools), samples=1)
    for group, scores in rollouts.play([draft_task(one) for one in DRAFTS], SynthesisContext(seed=0)):
        ((met_C, asked),) = writer.met([(writer.criteria(group.task), group[0])])
        assert met_C.shape == (2,) and asked == () and met_C[1] == (scores.outcome[0] > 0.5)


def test_a_model_reads_the_nearest_cases_and_writes_criteria():
    cases = seed_rubrics(WORLD, reference_rubrics(WORLD), count=8, seed=1)
    desk = scripted_desk(json.dumps({"criteria": [{"text": " It cites a source. ", "points": 2}]}))
    (found,) = AskedRubrics(desk, cases, cases=2).write(DRAFTS[:1])
    assert found.criteria == (Criterion("1", "It cites a source.", 2.0),) and len(found.asked) == 1
    (ask,) = desk.answerer.asks
    shown = [json.loads(line) for line in ask.fields["examples"].splitlines()]
    assert len(shown) == 2 and {one["question"] for one in shown} <= {one.question for one in cases}
    assert ask.fields["question"] == draft_text(DRAFTS[0])
    bare = scripted_desk(json.dumps({"criteria": []}))
    AskedRubrics(bare, cases, cases=0).write(DRAFTS[:1])
    assert bare.answerer.asks[0].fields["examples"] == ""


@pytest.mark.parametrize(
    ("criteria", "why"),
    [
        ([], "criteria of another form"),
        (["a text"], "criteria of another form"),
        ([{"text": "a", "points": 0}], "criteria of another form"),
        ([{"text": "a", "points": True}], "criteria of another form"),
        ([{"text": "a", "points": 1}, {"text": " a", "points": 2}], "criteria of another form"),
        ("a text", "no answer: unreadable"),
    ],
)
def test_other_answers_are_a_reason(criteria, why):
    (found,) = AskedRubrics(scripted_desk(json.dumps({"criteria": criteria})), [], cases=0).write(DRAFTS[:1])
    assert (found.criteria, found.reason) == ((), why)


def test_a_negative_number_of_cases_is_an_error():
    with pytest.raises(InputError, match="cases is -1"):
        AskedRubrics(scripted_desk("1"), [], cases=-1)
