"""I-MCTS (arXiv:2502.14693): tree search over pipelines with and without introspection and hybrid values."""

import random

import numpy as np
from scipy import stats

from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.i_mcts.hybrid_value import Priority, hybrid_priority
from handaxe.papers.i_mcts.pipeline_scores import Estimate, PipelineScores, fit_estimate
from handaxe.papers.i_mcts.pipeline_search import SearchTrace, pipeline_search
from handaxe.worlds.parts.table_data import METRICS
from handaxe.worlds.parts.table_pipelines import STAGES, TableChoice

__all__ = ["i_mcts"]

PLAIN = 0.8
"""Virtual visits of an unvisited node in the released search without estimates."""
SEARCHES: dict[str, tuple[bool, bool]] = {
    "i_mcts": (True, True),
    "no_introspection": (False, True),
    "no_hybrid": (True, False),
    "mcts": (False, False),
}
"""Search -> introspective expansion, and hybrid value."""
VALUE_NUMBER = 1_000_000
"""Draw of the tables of the value model; searches have others."""
FIGURES = ("dev", "test", "half")


def i_mcts(
    *, seeds: int = 8, executions: int = 10, children: int = 2, samples: int = 40, rows: int = 180
) -> StudyFunction:
    """Search pipelines for five data sets with equal numbers of executions.

    Figures:
        SEARCH/dev, SEARCH/test     unit score of the best pipeline on development rows, and of the same pipeline on
                                    test rows, mean over data sets and seeds; SEARCH/half after half of the executions
        gain/SEARCH, .../low, .../high      dev of I-MCTS less that of the search, with the 95 % interval over pairs
        gain_test/SEARCH, gain_half/SEARCH  likewise for test and half
        estimate/correlation        rank correlation of estimates and development scores, mean over data sets
        direction/size              mean absolute direction of introspection

    The searches are i_mcts, no_introspection, no_hybrid, mcts (neither), and random (pipelines drawn evenly).

    Args:
        seeds: draws of each data set.
        executions: distinct pipelines of a search.
        children: of an expansion.
        samples: pipelines of each other data set that the value model is fitted to.
        rows: of a data set.
    """

    def measure(seed: int) -> dict[str, float]:
        tables = {name: PipelineScores(name, number=VALUE_NUMBER + seed, rows=rows) for name in METRICS}
        found: dict[str, list[SearchTrace]] = {name: [] for name in (*SEARCHES, "random")}
        correlations = list[float]()
        for name in METRICS:
            others = [table for other, table in tables.items() if other != name]
            estimate = fit_estimate(others, samples=samples, seed=seed)
            correlations.append(_correlation(estimate, tables[name], samples))
            for number in range(seed, seed + seeds):
                task = PipelineScores(name, number=number, rows=rows)
                for search in SEARCHES:
                    found[search].append(_search(search, task, estimate, executions, children, number))
                found["random"].append(_draws(task, executions, number))
        sizes = [abs(one) for trace in found["i_mcts"] for one in trace.directions]
        figures = _figures({name: _table(traces, executions) for name, traces in found.items()})
        return figures | {
            "estimate/correlation": float(np.mean(correlations)),
            "direction/size": float(np.mean(sizes)),
        }

    return measure


def _search(
    name: str, task: PipelineScores, estimate: Estimate, executions: int, children: int, seed: int
) -> SearchTrace:
    introspects, hybrid = SEARCHES[name]
    priority: Priority = hybrid_priority() if hybrid else hybrid_priority(virtual=PLAIN, hybrid=False)
    return pipeline_search(
        task.run,
        priority=priority,
        estimate=estimate if hybrid else None,
        introspects=introspects,
        executions=executions,
        children=children,
        seed=seed,
    )


def _draws(task: PipelineScores, executions: int, seed: int) -> SearchTrace:
    """Execute the default pipeline and others drawn evenly."""
    rng = random.Random(derive_seed("i_mcts draws", task.name, seed))
    trace = SearchTrace({TableChoice(): task.run(TableChoice())})
    while len(trace.executed) < executions:
        choice = TableChoice(*(rng.choice(options) for options in STAGES.values()))
        trace.executed[choice] = task.run(choice)
    return trace


def _correlation(estimate: Estimate, table: PipelineScores, samples: int) -> float:
    """Spearman correlation on a table that the model was not fitted to."""
    fit_estimate([table], samples=samples, seed=0)  # executes pipelines of the table
    pairs = [(estimate(choice), scores.dev) for choice, scores in table.executed.items()]
    return float(stats.spearmanr(*zip(*pairs, strict=True)).statistic)


def _table(traces: list[SearchTrace], executions: int) -> dict[str, np.ndarray]:
    """Figures [K] of K searches."""
    best = [trace.best[1] for trace in traces]
    half = [max(scores.dev for scores in list(trace.executed.values())[: executions // 2]) for trace in traces]
    return {
        "dev": np.array([scores.dev for scores in best]),
        "test": np.array([scores.test for scores in best]),
        "half": np.array(half),
    }


def _figures(found: dict[str, dict[str, np.ndarray]]) -> dict[str, float]:
    figures = {f"{name}/{key}": float(own[key].mean()) for name, own in found.items() for key in FIGURES}
    for name in found.keys() - {"i_mcts"}:
        for gain, key in (("gain", "dev"), ("gain_test", "test"), ("gain_half", "half")):
            figures |= interval_figures(f"{gain}/{name}", found["i_mcts"][key] - found[name][key])
    return dict(sorted(figures.items()))
