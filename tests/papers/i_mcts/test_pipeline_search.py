import hashlib

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.i_mcts.hybrid_value import hybrid_priority
from handaxe.papers.i_mcts.pipeline_scores import ExecutedScores
from handaxe.papers.i_mcts.pipeline_search import PipelineNode, pipeline_search
from handaxe.worlds.parts.table_pipelines import STAGES, TableChoice


def run(choice):
    """Reproducible scores between 0 and 1."""
    train, dev, test = hashlib.sha256("/".join(choice).encode()).digest()[:3]
    return ExecutedScores(train / 255, dev / 255, test / 255)


def search(**knobs):
    return pipeline_search(run, **{"priority": hybrid_priority(), "estimate": None, "introspects": False, **knobs})


@pytest.mark.parametrize("introspects", [False, True])
@pytest.mark.parametrize("executions", [1, 2, 10])
def test_the_number_of_distinct_executions_is_exact(introspects, executions):
    trace = search(introspects=introspects, executions=executions, seed=3)
    assert len(trace.executed) == executions and next(iter(trace.executed)) == TableChoice()
    assert trace.best[1].dev == max(one.dev for one in trace.executed.values())
    assert search(introspects=introspects, executions=executions, seed=3).executed == trace.executed
    assert any(trace.directions) == (introspects and executions > 1)


def test_an_exhausted_tree_ends_the_search():
    """All options as children: each pipeline once."""
    trace = search(executions=10**6, children=5)
    assert len(trace.executed) == 3 * 4 * 5 * 3


def test_the_child_with_the_greatest_estimate_is_executed_first():
    trace = search(estimate=lambda choice: float(choice.scale == "minmax"), executions=2, children=3)
    assert list(trace.executed)[1] == TableChoice(scale="minmax")


def test_pipelines_are_decided_stage_by_stage():
    for choice in search(executions=30, seed=1).executed:
        assert all(option in STAGES[stage] for stage, option in choice._asdict().items())
    first = list(search(executions=3, seed=2).executed)[1:]
    assert all(choice[1:] == TableChoice()[1:] for choice in first)


def test_only_unfinished_nodes_are_open():
    leaf = PipelineNode(TableChoice(), depth=4)
    parent = PipelineNode(TableChoice(), depth=3, scores=run(TableChoice()))
    assert leaf.open and parent.open and not leaf.siblings()
    leaf.scores = run(TableChoice())
    parent.children = [leaf]
    assert not leaf.open and not parent.open


def test_bad_numbers_raise():
    with pytest.raises(InputError, match="give 1 or more"):
        search(children=0)
