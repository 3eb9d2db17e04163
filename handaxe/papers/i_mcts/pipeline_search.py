"""Monte-Carlo tree search over pipelines: a node decides one more stage, and each execution scores a whole pipeline."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.papers.i_mcts.hybrid_value import Priority
from handaxe.papers.i_mcts.introspection import capacity_direction, option_capacity, propose_options
from handaxe.papers.i_mcts.pipeline_scores import Estimate, ExecutedScores
from handaxe.worlds.parts.table_pipelines import STAGES, TableChoice

__all__ = ["PipelineNode", "SearchTrace", "pipeline_search"]

STAGE_NAMES = tuple(STAGES)
Run = Callable[[TableChoice], ExecutedScores]


@dataclass(eq=False)
class PipelineNode:
    """A pipeline whose first `depth` stages are decided; later stages have the options of its ancestors.

    visits, total   number of back-ups, and their sum
    estimate        of the value model, 0 without one
    scores          of the executed pipeline, None before
    """

    choice: TableChoice
    depth: int = 0
    parent: PipelineNode | None = None
    estimate: float = 0.0
    children: list[PipelineNode] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0
    scores: ExecutedScores | None = None

    @property
    def waiting(self) -> list[PipelineNode]:
        """Children without an execution."""
        return [child for child in self.children if child.scores is None]

    @property
    def open(self) -> bool:
        """True if the node can be executed, expanded, or has a child to execute."""
        if self.scores is None:
            return True
        return bool(self.waiting) if self.children else self.depth < len(STAGE_NAMES)

    def siblings(self) -> list[PipelineNode]:
        """Other children of the parent."""
        return [] if self.parent is None else [node for node in self.parent.children if node is not self]


@dataclass
class SearchTrace:
    """Executed pipelines in their order, without repetitions, and the directions of introspection."""

    executed: dict[TableChoice, ExecutedScores] = field(default_factory=dict)
    directions: list[float] = field(default_factory=list)

    @property
    def best(self) -> tuple[TableChoice, ExecutedScores]:
        """Pipeline with the best development score, the first of equal ones; never chosen by test scores."""
        return max(self.executed.items(), key=lambda item: item[1].dev)


def pipeline_search(
    run: Run,
    *,
    priority: Priority,
    estimate: Estimate | None,
    introspects: bool,
    executions: int = 10,
    children: int = 2,
    sharpness: float = 2.0,
    seed: int = 0,
) -> SearchTrace:
    """Search for a pipeline with a high development score.

        execute and back up the default pipeline, then until `executions` distinct pipelines are executed:
            select     of all open nodes the one with the greatest priority(estimate, total, n, N), ties to the first
            expand     an executed node without children: `children` options of the next stage, by introspection or
                       evenly; go to its child without execution with the greatest estimate, ties to the first
            execute    the node's whole pipeline
            back up    the development score: total += score and n += 1 for the node and its ancestors

    Args:
        run: executes a pipeline. Only training and development scores are read.
        priority: of a node with visits n under a parent with visits N.
        estimate: the value model; None gives every node the estimate 0.
        introspects: draw options along `capacity_direction`, else evenly, as from a fixed pool.
        executions: distinct pipelines, 1 or more; a search of an exhausted tree ends earlier.
        children: of an expansion, 1 or more; 5 at most in the paper, of an unlimited number of instructions.
        sharpness: see `propose_options`.
        seed: of the draws.

    Returns:
        The trace; `best` is the answer.

    Raises:
        InputError: a number out of range.

    Example:
        trace = pipeline_search(scores.run, priority=hybrid_priority(), estimate=model, introspects=True)

    Paper: arXiv:2502.14693 (I-MCTS), selection, introspective expansion, simulation and back-up, as in the released
    code: the greatest priority over the whole tree, and execution of the child with the greatest estimate.
    Unconfirmed: the number of children in the experiments.
    Differs: a node whose children are all executed is not selected again; a repeated pipeline is not counted.
    """
    if min(executions, children) < 1:
        raise InputError(f"the search has executions={executions} and children={children}; give 1 or more")
    rng = random.Random(derive_seed("pipeline_search", seed))
    trace = SearchTrace()
    root = PipelineNode(TableChoice(), estimate=estimate(TableChoice()) if estimate else 0.0)
    nodes = [root]
    _execute(root, run, trace)
    while len(trace.executed) < executions:
        found = [node for node in nodes if node.open]
        if not found:
            break
        chosen = max(found, key=lambda node: _priority(node, priority))
        if chosen.scores is not None:
            if not chosen.children:
                _expand(chosen, estimate, introspects, children, sharpness, rng, trace)
                nodes += chosen.children
            chosen = max(chosen.waiting, key=lambda node: node.estimate)
        _execute(chosen, run, trace)
    return trace


def _priority(node: PipelineNode, priority: Priority) -> float:
    parent = node.visits if node.parent is None else node.parent.visits
    return priority(node.estimate, node.total, node.visits, parent)


def _expand(
    node: PipelineNode,
    estimate: Estimate | None,
    introspects: bool,
    children: int,
    sharpness: float,
    rng: random.Random,
    trace: SearchTrace,
) -> None:
    direction = _direction(node) if introspects else 0.0
    trace.directions.append(direction)
    stage = STAGE_NAMES[node.depth]
    for option in propose_options(stage, direction=direction, count=children, sharpness=sharpness, rng=rng):
        choice = node.choice._replace(**{stage: option})
        node.children.append(PipelineNode(choice, node.depth + 1, node, estimate(choice) if estimate else 0.0))


def _direction(node: PipelineNode) -> float:
    """Capacity direction of an executed node."""
    assert node.scores is not None
    siblings = [
        (one.scores.dev, option_capacity(one.choice, one.depth)) for one in node.siblings() if one.scores is not None
    ]
    capacity = option_capacity(node.choice, node.depth)
    return capacity_direction(node.scores.train, node.scores.dev, capacity=capacity, siblings=siblings)


def _execute(node: PipelineNode, run: Run, trace: SearchTrace) -> None:
    node.scores = trace.executed.setdefault(node.choice, run(node.choice))
    own: PipelineNode | None = node
    while own is not None:
        own.visits += 1
        own.total += node.scores.dev
        own = own.parent
