"""The rule writes lookups of the facts of a scenario."""

from handaxe.papers.ftrl.environment_writer import RuleWriter, SeededId
from handaxe.papers.ftrl.local_tools import gives
from handaxe.papers.ftrl.toolchains_tools import RELATIONS
from handaxe.worlds.hops.knowledge_base import build_facts

KNOWN = build_facts(seed=0, size=40, distractors=0, relations=RELATIONS, digits=True)


def test_each_relation_of_a_scenario_is_a_tool_that_gives_its_answers():
    writer = RuleWriter(KNOWN, KNOWN.halves[0])
    for seed in range(20):
        (scenario,) = writer.scenarios([SeededId("a", "parallel chain", seed)])
        (documents,) = writer.documents([("a", scenario.value)])
        (tools,) = writer.codes([("a", scenario.value, documents.value)], seed)
        relations = {step.question.split()[1] for step in scenario.value.steps}
        assert {one.tool.name for one in tools.value} == relations
        assert sorted(k for one in tools.value for k in one.calls) == [0, 1, 2, 3]
        for one in tools.value:
            answers = [scenario.value.steps[k].answer for k in one.calls]
            assert gives(one.tool, list(one.calls.values()), answers)
    assert writer.codes([("a", scenario.value, documents.value)], seed)[0] == tools, "equal seeds give equal code"
