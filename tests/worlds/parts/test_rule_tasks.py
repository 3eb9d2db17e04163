import ast
import random

import pytest

from handaxe.core.errors import TaskError
from handaxe.worlds.parts.rule_tasks import answer_text, is_correct, rule_tasks

pytest.importorskip("reasoning_gym")


@pytest.mark.parametrize("generator, count", [("list_functions", 4), ("arc_1d", 3)])
def test_examples_and_query_are_those_of_the_question(generator, count):
    for one in rule_tasks(generator, count=20, seed=3):
        text = one.task.messages[-1].content
        assert 1 <= len(one.examples) <= count
        for case in one.examples:
            assert (
                answer_text(generator, case.arguments["xs"]) in text and answer_text(generator, case.expected) in text
            )
        assert text.rstrip().removesuffix("Output:").rstrip().endswith(answer_text(generator, one.query["xs"]))


@pytest.mark.parametrize("generator", ["list_functions", "arc_1d"])
def test_reference_answers_are_correct_and_other_values_are_wrong(generator):
    for one in rule_tasks(generator, count=10, seed=4):
        text = one.task.answer
        answer = ast.literal_eval(text) if generator == "list_functions" else [int(word) for word in text.split()]
        assert is_correct(one, answer)
        assert not any(is_correct(one, wrong) for wrong in (None, "x", [*answer, 1], [], [None]))


def test_tasks_are_reproducible_and_leave_the_global_generator_alone():
    random.seed(5)
    state = random.getstate()
    first, second = (rule_tasks("list_functions", count=40, seed=1) for _ in range(2))
    assert [one.task.messages for one in first] == [one.task.messages for one in second]
    assert random.getstate() == state


def test_rules_are_chosen_by_their_names():
    found = rule_tasks("arc_1d", count=15, seed=2, rules="gravity_|change")
    assert len(found) == 15 and all(one.rule.startswith(("gravity_", "change")) for one in found)
    with pytest.raises(TaskError, match="give another pattern"):
        rule_tasks("arc_1d", count=1, seed=2, rules="none")
    with pytest.raises(TaskError, match="not of 'gcd'"):
        rule_tasks("gcd", count=1, seed=2)
