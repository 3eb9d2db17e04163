"""Integration, scaling, distractors, and the task of an environment."""

import random

from handaxe.papers.ftrl.build_environment import (
    accepted,
    built_task,
    distractor_tools,
    merge_some,
    rounds_of,
    scale_some,
    tools_of,
)
from handaxe.papers.ftrl.environment_writer import RuleWriter, SeededId
from handaxe.papers.ftrl.sub_steps import Scenario, SubStep
from handaxe.papers.ftrl.toolchains_tools import RELATIONS
from handaxe.rewards.parts.solved import read_unsolved
from handaxe.worlds.hops.knowledge_base import build_facts

KNOWN = build_facts(seed=0, size=40, distractors=0, relations=RELATIONS, digits=True)


def written(kind="parallel chain", seed=3):
    writer = RuleWriter(KNOWN, KNOWN.halves[0])
    (scenario,) = writer.scenarios([SeededId("a", kind, seed)])
    (documents,) = writer.documents([("a", scenario.value)])
    (tools,) = writer.codes([("a", scenario.value, documents.value)], 0)
    return scenario.value, tools.value


def test_rounds_by_hand():
    steps = (SubStep("a", "1"), SubStep("b", "2", (0,)), SubStep("c", "3"), SubStep("d", "4", (2,)))
    scenario, tools = written()
    names = {k: one.tool.name for one in tools for k in one.calls}
    found = rounds_of(Scenario("parallel chain", "?", "2, 4", steps), tools)
    assert [[one["name"] for one in calls] for calls in found] == [[names[0], names[2]], [names[1], names[3]]]
    assert [[one["result"] for one in calls] for calls in found] == [["1", "3"], ["2", "4"]]


def test_tools_of_the_rule_give_the_answers_before_and_after_each_change():
    scenario, tools = written()
    merged = merge_some(tools, random.Random(0), share=1.0)
    scaled = scale_some(merged, random.Random(0), share=1.0)
    assert len(merged) == len(tools) - 1 and all(one.tool.optional for one in scaled)
    assert all(accepted(scenario, one) for one in (tools, merged, scaled))
    assert merge_some(tools, random.Random(0), share=0.0) == scale_some(tools, random.Random(0), share=0.0) == tools
    other = scenario._replace(steps=(scenario.steps[0]._replace(answer="0"), *scenario.steps[1:]))
    assert not accepted(other, tools)


def test_merged_calls_name_the_member():
    scenario, tools = written()
    (merged, *_) = merge_some(tools, random.Random(0), share=1.0)
    kinds = {given["kind"] for given in merged.calls.values()}
    assert merged.tool.name == "_or_".join(one for one in merged.tool.name.split("_or_") if one in kinds)


def test_the_task_has_tools_as_data():
    scenario, tools = written()
    others = distractor_tools(KNOWN, [one.tool.name for one in tools], random.Random(1), count=2, share=1.0)
    assert not {one.name for one in others} & {one.tool.name for one in tools} and all(one.optional for one in others)
    task = built_task(scenario, tools, others)
    assert len(task.tools) == len(tools) + 2 and list(task.tools) == sorted(task.tools)
    assert {one.name for one in tools_of(task)} == set(task.tools)
    assert {tool: sorted(results) for tool, results in read_unsolved(task).items()} == {
        one.tool.name: sorted(scenario.steps[k].answer for k in one.calls) for one in tools
    }
