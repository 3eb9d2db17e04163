"""ADAS (arXiv:2408.08435): meta agent search over agents in code, with an archive and fitness by the bootstrap."""

from __future__ import annotations

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.adas.agent_code import evaluate
from handaxe.papers.adas.agent_search import SEEDS, AgentArchive, search_agents
from handaxe.worlds.parts.rule_tasks import rule_tasks

__all__ = ["adas"]

RULES, OTHER = "move_.pix_solid|gravity_|change", "move_.pix_colorful|change"
"""Rules of arc_1d: of the searched domain, and of the other domain, without validation tasks."""


def adas(*, seeds: int = 5, generations: int = 30, valid: int = 48, test: int = 96) -> StudyFunction:
    """Search agents for `arc_1d` on validation tasks, and test the best ones on tasks of the test split.

    All agents have 90 executions of programs a task. An agent of a search is chosen by validation alone.

    Figures:
        SEARCH/valid, SEARCH/test, SEARCH/other     accuracy of the chosen agent on validation tasks (median of the
                                                    bootstrap), test tasks, and test tasks of the other domain; mean
                                                    over seeds. The search is adas, random (proposals without the
                                                    archive) or seeds (no proposals)
        seeds/NAME                                  test accuracy of each seed agent
        gain/SEARCH, .../low, .../high              test accuracy of adas less that of random or seeds, mean over seeds
                                                    with 95 % interval
        gain_other/seeds                            likewise, in the other domain
        optimism                                    validation less test of adas
        debugs, discarded                           repairs of faulty agents, and agents given up, a search

    Args:
        seeds: searches, each with tasks of its own.
        generations: proposals of a search; 30 in the paper.
        valid: validation tasks; 128 in the paper for MMLU.
        test: test tasks of each domain; 800 in the paper for MMLU.
    """

    def measure(seed: int) -> dict[str, float]:
        rows = [_search(number, generations, valid, test) for number in range(seed, seed + seeds)]
        found = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        figures = {key: float(value.mean()) for key, value in found.items()}
        for other in ("random", "seeds"):
            figures |= interval_figures(f"gain/{other}", found["adas/test"] - found[f"{other}/test"])
        figures |= interval_figures("gain_other/seeds", found["adas/other"] - found["seeds/other"])
        figures["optimism"] = figures["adas/valid"] - figures["adas/test"]
        return figures

    return measure


def _search(seed: int, generations: int, valid: int, test: int) -> dict[str, float]:
    validation = rule_tasks("arc_1d", count=valid, seed=seed, rules=RULES)
    tests = {
        "test": rule_tasks("arc_1d", count=test, seed=seed, split="test", rules=RULES),
        "other": rule_tasks("arc_1d", count=test, seed=seed, split="test", rules=OTHER),
    }
    archives: dict[str, AgentArchive] = {
        name: search_agents(
            lambda code: evaluate(code, validation, seed=seed),
            generations=count,
            seed=seed,
            from_archive=from_archive,
        )
        for name, count, from_archive in (
            ("adas", generations, True),
            ("random", generations, False),
            ("seeds", 0, True),
        )
    }
    figures = dict[str, float]()
    for name, archive in archives.items():
        figures[f"{name}/valid"] = archive.best.fitness.median
        for key, tasks in tests.items():
            figures[f"{name}/{key}"] = float(evaluate(archive.best.code, tasks, seed=seed).correct_T.mean())
    by_origin = {one.origin: one.code for one in archives["seeds"].agents}
    for name in SEEDS:
        figures[f"seeds/{name}"] = float(evaluate(by_origin[name], tests["test"], seed=seed).correct_T.mean())
    return figures | {"debugs": float(archives["adas"].debugs), "discarded": float(archives["adas"].discarded)}
