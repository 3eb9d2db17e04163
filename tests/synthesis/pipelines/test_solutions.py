"""Rewritten solutions: the funnel, a file of lessons, a second run, and a contaminated one."""

import json

from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.pipelines.solutions import solutions
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
TESTS = WORLD.tasks("test", 50, 0)
CONTEXT = PipelineContext(WORLD, "", WORLD.env(WORLD.tools), TESTS)


def test_lessons_are_executed_and_a_second_run_computes_nothing(tmp_path):
    report = solutions(CONTEXT, batch=32).run(out=tmp_path, count=10)
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    assert len(rows) == 10
    for row in rows:
        ((text, code, value, fails),) = row["lesson"]
        assert (text, fails, str(eval(code))) == ("", False, value) and value == row["answer"]
    reasons = {one["name"]: one["reasons"] for one in report.card["steps"]}
    assert reasons["write_calls"]["nothing worth a call"] > 0
    again = solutions(CONTEXT, batch=32).run(out=tmp_path, count=10)
    assert again.computed == 0 and again.drafts == report.drafts


def test_a_test_task_is_dropped(tmp_path):
    first = solutions(CONTEXT, batch=32).run(out=tmp_path / "a", count=10)
    texts = {one.payload["messages"][0]["content"] for one in first.drafts}
    planted = [one for one in WORLD.tasks("train", 4096, 1) if one.messages[-1].content in texts]
    seeds = [one.payload for one in first.drafts]
    task = TESTS[0].__class__("x", TESTS[0].messages[:0] + _messages(seeds[0]), seeds[0]["answer"])
    report = solutions(CONTEXT._replace(tests=[*TESTS, task, *planted]), batch=32).run(out=tmp_path / "b", count=10)
    assert seeds[0] not in [one.payload for one in report.drafts]


def _messages(payload):
    from handaxe.core.records import Message

    return tuple(Message(one["role"], one["content"]) for one in payload["messages"])
