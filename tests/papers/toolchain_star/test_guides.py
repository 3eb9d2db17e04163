import pytest

from handaxe.core.requests import Completion
from handaxe.papers.toolchain_star.frontier_search import SearchStep
from handaxe.papers.toolchain_star.guides import likelihood_guide, plan_guide
from handaxe.papers.toolchain_star.plan_costs import plan_costs
from handaxe.rollouts.search.node import Node


def returned(plan):
    """Return value of a generator without requests."""
    with pytest.raises(StopIteration) as stop:
        next(plan)
    return stop.value.value


def step(parent, plan, logp=(0.0,), share=1.0):
    zeros = [0.0] * len(logp)
    return SearchStep(parent, plan, Completion(list(logp), list(logp), zeros, [], "stop"), share=share)


def test_the_plan_guide_adds_the_step_cost_and_the_future_cost():
    costs = plan_costs([("a", "b")], alpha=0.0, beta=1.0)
    root = SearchStep(None, node=Node(None))
    first = step(root, ("a",), share=0.7)
    first.cumulative, first.future = returned(plan_guide(costs, max_turns=4)(first))
    assert (first.cumulative, first.future) == (pytest.approx(0.3), 0.5)
    first.node = Node(None)
    second = step(first, ("a", "b"), share=0.68)
    assert returned(plan_guide(costs, max_turns=4)(second)) == (pytest.approx(0.62), 0.0)


def test_the_likelihood_guide_is_the_mean_over_turns():
    guide, root = likelihood_guide(), SearchStep(None)
    first = step(root, ("a",), logp=(-0.1, -0.1))
    first.cumulative, first.future = returned(guide(first))
    assert first.cost == pytest.approx(0.2)
    assert returned(guide(step(first, ("a", "b"), logp=(-0.6,)))) == (pytest.approx(0.4), 0.0)
    third = [0.2, 0.6, 1.0]
    second = step(first, ("a", "b"), logp=(-0.6,))
    second.cumulative, _ = returned(guide(second))
    assert returned(guide(step(second, ("a", "b", "c"), logp=(-1.0,))))[0] == pytest.approx(sum(third) / 3)
