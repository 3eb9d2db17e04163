import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.bats.budget_plan import BudgetNode, budget_plan

CLUES = ["boss 4071", "heir 5526", "idol 9931"]


@pytest.mark.parametrize("remaining, explored", [(0, 1), (3, 1), (5, 1), (6, 2), (7, 2), (9, 3), (99, 3)])
def test_the_budget_decides_how_many_clues_are_explored(remaining, explored):
    nodes = budget_plan(CLUES, remaining=remaining, cost=3).nodes
    assert [node.text for node in nodes] == CLUES
    assert [node.kind for node in nodes] == ["explore"] * explored + ["verify"] * (3 - explored)


def test_status_and_use_are_written_on_the_nodes():
    plan = budget_plan(CLUES[:2], remaining=3, cost=3)
    plan.update("boss 4071", "partial", {"find": 1})
    plan.update("boss 4071", "done", {"find": 2, "open": 1})
    assert plan.text() == "plan: [x] explore boss 4071 (find 3, open 1); [ ] verify heir 5526"


def test_a_further_node_keeps_the_status_of_both():
    plan = budget_plan(CLUES[:2], remaining=3, cost=3)
    plan.append(BudgetNode("explore", "heir 5526"))
    plan.append(BudgetNode("explore", "heir 5526"))
    plan.update("heir 5526", "failed", {"find": 1})
    assert plan.text() == "plan: [ ] explore boss 4071; [!] verify heir 5526 (find 1); [!] explore heir 5526"


@given(st.lists(st.sampled_from(["append", "update"]), max_size=8), st.data())
def test_nodes_are_never_removed_or_reworded(actions, data):
    plan = budget_plan(CLUES, remaining=6, cost=3)
    for action in actions:
        before = [(node.kind, node.text) for node in plan.nodes]
        if action == "append":
            plan.append(BudgetNode("explore", data.draw(st.sampled_from([*CLUES, "ally 1000"]))))
        else:
            plan.update(data.draw(st.sampled_from(CLUES)), "done", {"find": 1})
        assert [(node.kind, node.text) for node in plan.nodes][: len(before)] == before


def test_bad_input_raises():
    for clues, remaining, cost in (([], 1, 1), (CLUES, -1, 1), (CLUES, 1, 0)):
        with pytest.raises(InputError, match="give 1 clue or more"):
            budget_plan(clues, remaining=remaining, cost=cost)
    with pytest.raises(InputError, match="no node 'ally 1'"):
        budget_plan(CLUES, remaining=1, cost=1).update("ally 1", "done", {})
