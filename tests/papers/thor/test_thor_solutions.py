"""The pipeline of TIRGen: filters by difficulty and by number of calls, and a second run."""

import pytest

pytest.importorskip("reasoning_gym")

from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.papers.thor.thor_solutions import thor_solutions
from handaxe.synthesis.context import MeasuredPolicy, PipelineContext
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.gym import gym


def funnel(report):
    return {step["name"]: (step["in"], step["out"], step["reasons"]) for step in report.card["steps"]}


def test_solutions_of_a_generator_are_balanced_by_calls(tmp_path):
    world = gym(names=("gsm_symbolic",))
    at = PipelineContext(world, "", world.env(world.tools), world.tasks("test", 20, 0))
    report = thor_solutions(at, batch=96, factor=0.5).run(out=tmp_path, count=10)
    steps = funnel(report)
    assert "difficulty" not in steps and steps["balance"][2]["too many of one calls"] > 0
    assert len({one.notes["calls"] for one in report.drafts}) > 1
    assert thor_solutions(at, batch=96, factor=0.5).run(out=tmp_path, count=10).computed == 0


def test_difficulty_is_the_pass_rate_of_the_policy_without_tools(tmp_path):
    world, policy = arithmetic(easy=0.0), load("tiny")
    measured = MeasuredPolicy(LocalEngine(policy.model), policy.format, "tiny")
    at = PipelineContext(world, "", world.env(world.tools), world.tasks("test", 20, 0), policy=measured)
    report = thor_solutions(at, batch=6).run(out=tmp_path, count=3)
    assert funnel(report)["difficulty"][0] == 6
    assert all(one.notes["pass_rate"] <= 0.5 and one.notes["policy"] == "tiny" for one in report.drafts)
