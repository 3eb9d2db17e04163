"""Scenarios: drawn by rule, read from a model, and checked."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handaxe.papers.ftrl.sub_steps import Scenario, SubStep, check_scenario, draw_scenario, read_scenario
from handaxe.papers.ftrl.toolchains import SCENARIOS
from handaxe.papers.ftrl.toolchains_tools import RELATIONS
from handaxe.worlds.hops.knowledge_base import build_facts

KNOWN = build_facts(seed=0, size=40, distractors=0, relations=RELATIONS, digits=True)
CHAIN = Scenario("chain", "4071 boss ally?", "1390", (SubStep("4071 boss", "5526"), SubStep("5526 ally", "1390", (0,))))
PAIR = Scenario("parallel", "1, 2?", "a, b", (SubStep("1", "a"), SubStep("2", "b")))


@given(st.sampled_from(list(SCENARIOS)), st.integers(0, 500))
@example("parallel chain", 110)
def test_drawn_scenarios_are_of_their_kind_and_follow_the_facts(kind, seed):
    one = draw_scenario(KNOWN, KNOWN.halves[0], random.Random(seed), kind)
    assert check_scenario(one) == "" and len(one.steps) == SCENARIOS[kind][0] * SCENARIOS[kind][1]
    for step in one.steps:
        name, relation = step.question.split()
        assert KNOWN.facts[name, relation] == step.answer
        assert all(one.steps[need].answer == name for need in step.needs)
    assert [check_scenario(one._replace(kind=other)) for other in SCENARIOS if other != kind] == ["another kind"] * 3
    assert Scenario.from_json({**one._asdict(), "steps": [list(step) for step in one.steps]}) == one


def steps(*changed):
    return CHAIN._replace(steps=changed)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (CHAIN, ""),
        (CHAIN._replace(question=""), "an empty text"),
        (CHAIN._replace(steps=()), "an empty text"),
        (steps(SubStep("a", "5526", (1,)), SubStep("b", "1390", (0,))), "a step needs a later one"),
        (steps(SubStep("a", "5526"), SubStep("b", "1390", (-1,))), "a step needs a later one"),
        (steps(SubStep("a", "5526")), "another kind"),
        (steps(*CHAIN.steps, SubStep("c", "7777", (0,))), "another kind"),
        (CHAIN._replace(answer="1390, 7777"), "the answer is not that of the last steps"),
        (CHAIN._replace(answer="7777"), "the answer is not that of the last steps"),
        (PAIR, ""),
        (PAIR._replace(answer="b, a"), "the answer is not that of the last steps"),
        (
            PAIR._replace(kind="parallel chain", steps=(*PAIR.steps, SubStep("3", "c", (0,))), answer="b, c"),
            "another kind",
        ),
        (PAIR._replace(kind="chain", steps=(*PAIR.steps, SubStep("3", "c", (0, 1))), answer="c"), "another kind"),
        (CHAIN._replace(question="4071 boss (5526) ally?"), "the question states a step"),
    ],
)
def test_decompositions_that_are_no_scenario(one, reason):
    assert check_scenario(one) == reason


def test_a_model_s_answer_is_read():
    found = {
        "question": " 4071 boss ally? ",
        "answer": "1390",
        "steps": [
            {"question": "4071 boss", "answer": "5526"},
            {"question": "5526 ally", "answer": "1390", "needs": [0]},
        ],
    }
    assert read_scenario("chain", found) == CHAIN


@pytest.mark.parametrize(
    "step", ["x", {"question": "q"}, {"question": "q", "answer": 3}, {"question": "q", "answer": "a", "needs": ["0"]},
             {"question": "q", "answer": "a", "needs": [True]}, {"question": "q", "answer": "a", "needs": 0}],
)  # fmt: skip
def test_steps_of_another_form_are_not_read(step):
    assert read_scenario("single", {"question": "q", "answer": "a", "steps": [step]}) is None
