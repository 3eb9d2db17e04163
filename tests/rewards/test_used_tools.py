from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.used_tools import used_tools
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

LAB = [
    LabCase("used_tools()", partial(arithmetic, easy=0.0, mistakes=True), lambda world: used_tools()),
]


def rollout(*replies):
    made = [ToolReply(f"0-{i}", name, "", status) for i, (name, status) in enumerate(replies)]
    return make_trajectory(texts=[""], calls=[[one.name for one in made]], replies=[made])


def outcome(*rollouts, **options):
    return used_tools(**options)(make_group(trajectories=rollouts)).outcome.tolist()


HALF = rollout(("search", "ok"), ("python", "failed"))
BOTH = rollout(("python", "ok"), ("search", "ok"))


def test_used_tools_matches_the_docstring_example():
    assert outcome(HALF, tools=("search", "python")) == [1]
    assert outcome(HALF, BOTH, tools=("search", "python"), every=True) == [0, 1]


def test_any_tool_counts_by_default():
    refused = rollout(("search", "invalid"), ("search", "timeout"), ("search", "retry"), ("search", "infra_error"))
    assert outcome(HALF, rollout(), refused) == [1, 0, 0]
    assert outcome(BOTH, tools=("files",)) == [0]


@pytest.mark.parametrize("options", [{"every": True}, {"tools": "search"}])
def test_options_without_tool_names_are_errors(options):
    with pytest.raises(InputError, match="give the names of tools"):
        used_tools(**options)
