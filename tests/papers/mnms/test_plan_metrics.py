import random

import pytest

from handaxe.papers.mnms.plan import PlanNode
from handaxe.papers.mnms.plan_metrics import compare_plans, edit_similarity


def chain(*names):
    return [PlanNode(name, {"x": "1"}) for name in names]


def test_compare_plans_matches_its_example():
    """P 1, R 2/3, F1 0.8; edges have nothing in common; Levenshtein's ratio is 0.8."""
    found = compare_plans(chain("caption", "answer"), chain("caption", "summarize", "answer"))
    assert found["tool_f1"] == (4, 5) and found["edge_f1"] == (0, 3) and found["plan_acc"] == (0, 1)
    assert edit_similarity((1, 3), (1, 2, 3)) == 0.8


def test_names_and_values_of_arguments():
    plan, gold = [PlanNode("zoom", {"box": "A", "size": "2"})], [PlanNode("zoom", {"box": "a", "side": "2"})]
    found = compare_plans(plan, gold)
    assert found["argname_f1"] == (2, 4) and found["argvalue_f1"] == (2, 4)
    assert compare_plans(plan, plan)["argvalue_f1"] == (4, 4) and compare_plans(plan, plan)["plan_acc"] == (1, 1)
    assert compare_plans([], gold)["tool_f1"] == (0, 1)


def slow_micro_f1(pairs):
    """Binary labels over the union of names, as in the released code."""
    true_positive = false_positive = false_negative = 0
    for plan, gold in pairs:
        mine, theirs = {node.name for node in plan}, {node.name for node in gold}
        for name in mine | theirs:
            true_positive += name in mine and name in theirs
            false_positive += name in mine and name not in theirs
            false_negative += name not in mine and name in theirs
    total = 2 * true_positive + false_positive + false_negative
    return 2 * true_positive / total if total else 0.0


def test_sums_of_counts_give_the_micro_f1():
    rng = random.Random(0)
    pairs = [[chain(*rng.choices("abcd", k=rng.randrange(4))) for _ in "pg"] for _ in range(50)]
    counts = [compare_plans(plan, gold)["tool_f1"] for plan, gold in pairs]
    micro = sum(one.twice for one in counts) / sum(one.total for one in counts)
    assert micro == pytest.approx(slow_micro_f1(pairs), abs=1e-12)


def slow_common(mine, theirs):
    if not mine or not theirs:
        return 0
    if mine[-1] == theirs[-1]:
        return 1 + slow_common(mine[:-1], theirs[:-1])
    return max(slow_common(mine[:-1], theirs), slow_common(mine, theirs[:-1]))


def test_edit_similarity_equals_a_recursion():
    rng = random.Random(1)
    for _ in range(60):
        mine, theirs = (rng.choices("abc", k=rng.randrange(6)) for _ in range(2))
        total = len(mine) + len(theirs)
        expected = 2 * slow_common(mine, theirs) / total if total else 1.0
        assert edit_similarity(mine, theirs) == pytest.approx(expected, abs=1e-12)
