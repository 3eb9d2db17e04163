"""Both pipelines of ASTRA: funnels, files that the world reads, and refusals."""

import json

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.astra.arena import arena
from handaxe.papers.astra.pipelines import astra_environments, astra_trajectories
from handaxe.synthesis.context import PipelineContext
from handaxe.worlds.arithmetic import arithmetic

WORLD = arena()
CONTEXT = PipelineContext(WORLD, "", WORLD.env(()), WORLD.tasks("test", 20, 0))


def funnel(report):
    return {step["name"]: (step["in"], step["out"], step["reasons"]) for step in report.card["steps"]}


def test_environments_are_verified_executed_and_read_by_the_world(tmp_path):
    report = astra_environments(CONTEXT, batch=64).run(out=tmp_path, count=30)
    steps = funnel(report)
    assert steps["decompose"][2]["no tool needed"] > 0 and steps["verify"][2]["low scores"] > 0
    assert all(draft.notes["mean"] == 1 for draft in report.drafts), "the upper tenth has full scores"
    world = arena(file=str(tmp_path / "tasks.jsonl"))
    read = world.tasks("train", 100, 0)
    assert len(read) == 30 and world.tasks("test", 5, 0) == WORLD.tasks("test", 5, 0)
    assert {one.messages[0].content for one in read} == {one.payload["messages"][0]["content"] for one in report.drafts}
    for task in read[:8]:
        env = world.env(())(task)
        _, tools = env.start()
        assert {one.name for one in tools} == set(task.tools)
        env.close()


def test_trajectories_are_walks_that_run_and_have_the_best_axes(tmp_path):
    report = astra_trajectories(CONTEXT, batch=48).run(out=tmp_path, count=10)
    steps = funnel(report)
    assert steps["edges"][2]["an edge fails"] > 0
    assert steps["play"][1] == round(0.5 * steps["play"][0]) or steps["play"][0] % 2
    kept = [draft.notes["mean"] for draft in report.drafts]
    lines = [json.loads(line) for line in (tmp_path / "provenance.jsonl").read_text().splitlines()]
    assert min(kept) > 0.8 and sum(line["reason"] == "low axes" for line in lines) == steps["play"][2]["low axes"]


def test_a_second_run_is_read_from_the_ledger(tmp_path):
    first = astra_environments(CONTEXT, batch=32).run(out=tmp_path, count=5)
    again = astra_environments(CONTEXT, batch=32).run(out=tmp_path, count=5)
    assert again.computed == 0 and again.drafts == first.drafts


def test_wrong_input():
    other = arithmetic()
    with pytest.raises(InputError, match="give --world arena"):
        astra_environments(PipelineContext(other, "", other.env(()), other.tasks("test", 5, 0)))
    with pytest.raises(InputError, match="percentile 0 to 100"):
        astra_environments(CONTEXT, percentile=101.0)
    with pytest.raises(InputError, match="keep is 0"):
        astra_trajectories(CONTEXT, keep=0.0)
    with pytest.raises(InputError, match="leave --proposer out"):
        astra_environments(CONTEXT._replace(desk=object()))
