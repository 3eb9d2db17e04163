"""What wraps an environment has no more of them open than there may be."""

import pytest

from handaxe.core.protocols import Bounded
from handaxe.envs.bounded_as import bounded_as
from handaxe.envs.by_task import by_task
from handaxe.envs.slow import slow
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.without_tools import without_tools
from handaxe.papers.adareasoner.renamed_tools import renamed_tools
from handaxe.papers.chartmaster.charts import charts
from handaxe.papers.gated.workspace import workspace
from handaxe.papers.tool_star.hinted import hinted
from handaxe.tools.calculator import calculator
from handaxe.worlds.glimpse.world import glimpse
from handaxe.worlds.priced.world import priced

WRAPPERS = (hinted, renamed_tools, slow, without_tools, lambda env: by_task("part", {"a": env}))
OTHER = calculator.but(max_chars=10, cost=0.0, prefix="other_")
"""A tool that no world has."""
WORLDS = (charts, glimpse, priced, workspace)


def bounded(most):
    def make():
        return [OTHER]

    make.most = most
    return make


def test_example():
    free = tool_chat([calculator])
    assert bounded_as(lambda task: free(task), tool_chat([bounded(4)]), tool_chat([bounded(2)]), free).most == 2
    assert not isinstance(bounded_as(lambda task: free(task), free), Bounded)


@pytest.mark.parametrize("wrapped", WRAPPERS)
def test_every_wrapper_is_bounded_as_what_it_wraps(wrapped):
    assert wrapped(tool_chat([bounded(2)])).most == 2
    assert not isinstance(wrapped(tool_chat([calculator])), Bounded)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
def test_every_world_with_tools_of_its_own_is_bounded_as_the_tools_it_is_given(world):
    assert world().env([bounded(2)]).most == 2 and not isinstance(world().env([OTHER]), Bounded)
