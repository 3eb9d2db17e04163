"""Bounds of wrapped environments."""

import pytest

from handaxe.core.protocols import Bounded
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.slow import slow
from handaxe.envs.task_router import task_router
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.without_tools import without_tools
from handaxe.papers.adareasoner.renamed_tools import renamed_tools
from handaxe.papers.chartmaster.chart_code import chart_code
from handaxe.papers.gated.workspace import workspace
from handaxe.papers.tool_star.hinted_env import hinted
from handaxe.tools.calculator import calculator
from handaxe.worlds.charts.world import charts
from handaxe.worlds.clips.world import clips
from handaxe.worlds.routing.world import routing

WRAPPERS = (hinted, renamed_tools, slow, without_tools, lambda env: task_router("part", {"a": env}))
OTHER = calculator.but(max_chars=10, cost=0.0, prefix="other_")
"""Tool outside all worlds."""
WORLDS = (chart_code, charts, clips, routing, workspace)


def bounded(most):
    def make():
        return [OTHER]

    make.most = most
    return make


def test_wrapper_inherits_the_smallest_bound():
    free = tool_chat([calculator])
    assert inherit_bound(lambda task: free(task), tool_chat([bounded(4)]), tool_chat([bounded(2)]), free).most == 2
    assert not isinstance(inherit_bound(lambda task: free(task), free), Bounded)


@pytest.mark.parametrize("wrapped", WRAPPERS)
def test_every_wrapper_inherits_its_bound(wrapped):
    assert wrapped(tool_chat([bounded(2)])).most == 2
    assert not isinstance(wrapped(tool_chat([calculator])), Bounded)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
def test_worlds_inherit_the_bound_of_given_tools(world):
    assert world().env([bounded(2)]).most == 2 and not isinstance(world().env([OTHER]), Bounded)
