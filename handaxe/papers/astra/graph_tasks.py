"""Tasks for chains of the tool graph: observed chains, edges verified by execution, and scores of the question."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Sequence

from handaxe.core.records import Task
from handaxe.ops.seeds import derive_seed
from handaxe.papers.astra.environment import environment_task, written_rows
from handaxe.papers.astra.qa_traces import chain_of_tables, question_of, trace_of
from handaxe.papers.astra.records import KINDS, TABLES, TypedRecords
from handaxe.papers.astra.sub_questions import decompose, needs_tools
from handaxe.papers.astra.tool_graph import ToolGraph, build_graph, walk
from handaxe.papers.astra.tool_writing import call_tool, merge_tools, write_tool

__all__ = ["chain_runs", "graph_parts", "graph_task", "observed_graph", "question_score"]

WRONG = 0.2
"""Share of the observed edges between tools that do not fit."""


@functools.lru_cache(maxsize=8)
def observed_graph(seed: int, *, chains: int = 200, wrong: float = WRONG) -> ToolGraph:
    """Build the graph of chains that a writer proposed, of which some edges do not fit.

    A rule writes the chains: tables that fit, and with a probability any table.

    Args:
        seed: of the chains.
        chains: number of chains of two to four tools.
        wrong: probability that a table is drawn without regard to the one before.
    """
    rng = random.Random(derive_seed("astra chains", seed))
    made = []
    for _ in range(chains):
        kind = rng.choice(list(KINDS))
        chain = chain_of_tables(kind, rng.randint(2, 4), rng)
        made.append([rng.choice(list(TABLES)) if k and rng.random() < wrong else one for k, one in enumerate(chain)])
    return build_graph(made)


def graph_parts(records: TypedRecords, graph: ToolGraph, rng: random.Random) -> list[tuple[str, list[str]]]:
    """Make the parts of a question: a walk from a training name, and with probability 1/2 a second, short one.

    The second walk raises the complexity; other names for one walk raise the diversity.
    """
    parts = list[tuple[str, list[str]]]()
    for chain in [walk(graph, rng, low=2, high=3), *([walk(graph, rng, low=1, high=2)] if rng.random() < 0.5 else [])]:
        start = rng.choice(records.halves[TABLES[chain[0]][0]][0])
        parts += [(start, chain)] if start not in [name for name, _ in parts] else []
    return parts


def chain_runs(records: TypedRecords, start: str, chain: Sequence[str]) -> bool:
    """Test whether each tool of a chain takes the result of the one before, executed in the sandbox.

    Example:
        [town, mayor] runs from a person; [town, boss] does not, since a place has no boss
    """
    key = start
    for table in chain:
        ran, key = call_tool(_whole_table(records, table), table, key)
        if not ran:
            return False
    return True


def question_score(parts: Sequence[tuple[str, Sequence[str]]], task: Task) -> float:
    """Score a question on quality, realism and need of tools; each 0 or 1.

        quality   decomposition of the question gives back its chains
        realism   no table follows itself, and no two parts are equal
        need      no answer stands in the question

    Returns:
        The mean of the three.

    Paper: arXiv:2601.21558 (ASTRA), scores of written tasks.
    Unconfirmed: what each score reads.
    Differs: rules score, where the paper asks a language model.
    """
    subs = task.metadata["sub_questions"]
    words = [one[0] for one in subs]
    quality = words == [table for _, chain in parts for table in chain] and all(one[2] for one in subs)
    chains = [tuple(chain) for _, chain in parts]
    realism = all(left != right for chain in chains for left, right in itertools.pairwise(chain))
    realism = realism and len(set(chains)) == len(chains)
    need = not any(str(one[2]) in task.messages[0].content for one in subs)
    return (quality + realism + need) / 3


def graph_task(
    records: TypedRecords, parts: Sequence[tuple[str, Sequence[str]]], rng: random.Random, *, name: str
) -> Task | None:
    """Make the task of parts that run, with written tools and distractors; None if its tools are not accepted."""
    trace = trace_of(records, parts, rng)
    subs = decompose(trace)
    assert trace.question == question_of(parts)
    if not needs_tools(trace, subs):
        return None
    rows = written_rows(subs, rng)
    codes = None if rows is None else merge_tools(subs, rows, rng)
    return None if codes is None else environment_task(trace, subs, codes, rng, name=name)


@functools.lru_cache(maxsize=64)
def _code(table: str, rows: tuple[tuple[str, str], ...]) -> str:
    return write_tool(table, rows)


def _whole_table(records: TypedRecords, table: str) -> str:
    return _code(table, tuple((key, value) for (one, key), value in records.facts.items() if one == table))
