"""The pipeline duetqa: what each step drops, with the rule and with a model as solver."""

from dataclasses import replace

import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.fathom.duetqa import duetqa
from handaxe.papers.fathom.paged_hops import paged_hops
from handaxe.synthesis.context import MeasuredPolicy, PipelineContext
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.testing import ScriptedEngine

pytest.importorskip("bm25s")
WORLD = paged_hops(lengths=(1,))
CONTEXT = PipelineContext(WORLD, "", WORLD.env(WORLD.tools), WORLD.tasks("test", 20, 0))
HERE = SynthesisContext(seed=0, workers=1)


def funnel(report):
    return {step["name"]: (step["in"], step["out"]) for step in report.card["steps"]}


def step_of(context, name, **options):
    return next(one for one in duetqa(context, **options).steps if one.name == name)


def test_rules_make_questions_that_the_world_reads(tmp_path):
    report = duetqa(CONTEXT, batch=32).run(out=tmp_path, count=20)
    steps = funnel(report)
    assert list(steps) == ["propose", "solve", "told", "closed_book", "duet", "dedupe", "decontaminate"]
    assert len(report.drafts) == 20 and all(one.notes["duet"]["share"] == 1 for one in report.drafts)
    assert all(one.notes["duet"]["by"] == "rule" for one in report.drafts)


def test_an_answer_in_the_question_needs_no_search():
    draft, other = (task_draft(one) for one in WORLD.tasks("train", 2, 0))
    task = draft_task(draft)
    told = task_draft(replace(task, messages=(Message("user", f"Is it {task.answer}?"),)))
    found = step_of(CONTEXT, "told").run([told, other], HERE)
    assert [one.reason for one in found] == ["answer in the question", ""]


def solver(drafts):
    """A solver that knows the second answer by heart, opens the page of a fact, and is wrong about the third."""
    tasks = [draft_task(one) for one in drafts]

    def script(text, turn):
        k = next(k for k, task in enumerate(tasks) if task.messages[0].content in text)
        if "search(query)" not in text:
            return str(tasks[k].answer) if k == 1 else "none"
        if not turn:
            return ToolCall("open", {"id": tasks[k].metadata["gold_documents"][0]})
        return "none" if k == 2 else text.rpartition("<TOOL>")[2].split("<")[0].split()[-1]

    engine = ScriptedEngine(Compact(), script, tools=[one.schema for one in WORLD.tools])
    return CONTEXT._replace(policy=MeasuredPolicy(engine, Compact(), "scripted 1"))


def test_a_solver_drops_what_needs_no_search_and_what_it_disagrees_with():
    drafts = [task_draft(one) for one in WORLD.tasks("train", 3, 0)]
    closed = step_of(solver(drafts), "closed_book").run(drafts, HERE)
    assert [one.reason for one in closed] == ["", "too many votes", ""]
    found = step_of(solver(drafts), "duet").run(drafts, HERE)
    assert [one.reason for one in found] == ["", "", "too few votes"]
    assert found[0].kept[0].notes["duet"]["share"] == 1.0 and found[0].kept[0].notes["duet"]["by"] == "scripted 1"
    assert step_of(solver(drafts), "duet", least=0.5).settings["solver"]["by"] == "scripted 1"


def test_a_question_without_a_scored_rollout_is_dropped_by_both_steps():
    drafts = [task_draft(one) for one in WORLD.tasks("train", 3, 0)]
    asked = draft_task(drafts[0]).messages[0].content

    def correct(group):
        if group.task.messages[0].content == asked:
            raise VerifierError("no verdict", trajectory=group[0].id)
        return WORLD.correct(group)

    away = solver(drafts)._replace(world=replace(WORLD, correct=correct))
    for name in ("closed_book", "duet"):
        assert step_of(away, name).run(drafts, HERE)[0].reason == "unscored"


def test_numbers_out_of_range_are_refused():
    for wrong in ({"samples": 0}, {"least": 0.0}, {"least": 1.5}):
        with pytest.raises(InputError, match="samples from 1"):
            duetqa(CONTEXT, **wrong)
