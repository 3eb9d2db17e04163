"""SWE-rebench (arXiv:2505.20411): tasks mined by execution, and scores with and without seen tasks."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.papers.swe_rebench.decontaminate import known_version, ngram_overlap, ngrams
from handaxe.papers.swe_rebench.fix_agent import fix_agent
from handaxe.papers.swe_rebench.mine_fixes import STAGES, FixTask, function_text, listed_modules, mine_fixes
from handaxe.papers.swe_rebench.run_statistics import run_statistics
from handaxe.tools.sandbox.check_sandbox import check_sandbox
from handaxe.worlds.repair.tasks import Module, module_source

__all__ = ["swe_rebench"]

CUTOFF = {"toolz": "1.2.0"}
"""Packages in the corpus, by their latest version; the corpus has half of the functions of networkx too."""
HALVED = "networkx"
NETWORKX = 7
"""Drawn modules of networkx."""
SIZE = 8
OVERLAP = 0.5
"""Tokens of an n-gram, and the least overlap of a flagged task."""


def swe_rebench(*, candidates: int = 8, runs: int = 5, tries: int = 6, networkx: int = NETWORKX) -> StudyFunction:
    """Mine tasks of installed packages, and play two agents, one of which knows a part of the packages by heart.

    Figures:
        funnel/STAGE                    candidates that reached a stage; funnel/refused is the share without a task
        share/seen, share/version, share/ngrams   tasks of known functions; flagged by version, and by n-grams
        AGENT/SUBSET, .../sem, .../pass   mean resolved rate over runs, its standard error, and pass@R
        AGENT/gap                       rate on seen tasks less that on fresh tasks
        gain/SUBSET                     rate of `recalls` less that of `searches`
    Agents: searches and recalls, see `fix_agent`. Subsets: all, seen, fresh, and the tasks that are not flagged by
    version (dated) and by n-grams (clean).

    Args:
        candidates: of a module.
        runs: of a task and agent, 2 or more.
        tries: most edits of a run.
        networkx: drawn modules of networkx; those of toolz and hyperlink are all used.
    """

    def measure(seed: int) -> dict[str, float]:
        check_sandbox()
        modules = _modules(networkx, seed)
        tasks: list[FixTask] = []
        reached = Counter[str]()
        for module in modules:
            found, counted = mine_fixes(module, count=candidates, seed=seed, known=tasks)
            tasks += found
            reached += counted
        corpus = _corpus(modules)
        figures = {f"funnel/{stage}": float(reached[stage]) for stage in STAGES}
        figures["funnel/refused"] = 1 - reached[STAGES[-1]] / reached[STAGES[0]]
        return figures | _scores(tasks, corpus, runs, tries, seed)

    return measure


def _modules(count: int, seed: int) -> list[Module]:
    every = listed_modules()
    halved = [one for one in every if one.package == HALVED]
    rng = np.random.default_rng(derive_seed("swe rebench modules", seed))
    drawn = sorted(rng.choice(len(halved), size=min(count, len(halved)), replace=False).tolist())
    return [one for one in every if one.package != HALVED] + [halved[place] for place in drawn]


def _corpus(modules: Sequence[Module]) -> set[str]:
    """Code of the functions that the agent knows by heart: packages of CUTOFF, and every second function of HALVED."""
    known = set[str]()
    for module in modules:
        source = module_source(module.package, module.version, module.name, module.digest)
        whole = known_version(module.package, module.version, CUTOFF)
        for function in source.functions:
            even = derive_seed("swe rebench corpus", module.name, function.name) % 2 == 0
            if whole or (module.package == HALVED and even):
                known.add(function_text(function, source.rows))
    return known


def _scores(tasks: Sequence[FixTask], corpus: Collection[str], runs: int, tries: int, seed: int) -> dict[str, float]:
    texts = [function_text(one.function, one.source.rows) for one in tasks]
    grams = set[tuple[str, ...]]().union(*(ngrams(text, SIZE) for text in corpus))
    seen_N = np.array([text in corpus for text in texts])
    dated_N = np.array([known_version(one.module.package, one.module.version, CUTOFF) for one in tasks])
    flagged_N = np.array([ngram_overlap(text, grams, size=SIZE) >= OVERLAP for text in texts])
    shares = {"seen": seen_N, "version": dated_N, "ngrams": flagged_N}
    figures = {f"share/{name}": float(chosen_N.mean()) for name, chosen_N in shares.items()}
    subsets = {"all": np.ones(len(tasks), dtype=bool), "seen": seen_N, "fresh": ~seen_N}
    subsets |= {"dated": ~dated_N, "clean": ~flagged_N}
    for name, known in (("searches", ()), ("recalls", corpus)):
        resolved_RN = np.array(
            [
                [
                    fix_agent(one, tries=tries, seed=derive_seed("swe rebench run", seed, run, number), corpus=known)
                    for number, one in enumerate(tasks)
                ]
                for run in range(runs)
            ]
        )
        figures |= {f"{name}/{key}": value for key, value in _by_subset(resolved_RN, subsets).items()}
    figures |= {f"gain/{one}": figures[f"recalls/{one}"] - figures[f"searches/{one}"] for one in subsets}
    return figures


def _by_subset(resolved_RN: np.ndarray, subsets: Mapping[str, np.ndarray]) -> dict[str, float]:
    figures = dict[str, float]()
    for name, chosen_N in subsets.items():
        found = run_statistics(resolved_RN[:, chosen_N])
        figures[name] = found["mean"]
        figures |= {f"{name}/{key}": found[key] for key in ("sem", "pass")}
    figures["gap"] = figures["seen"] - figures["fresh"]
    figures["spread"] = figures["all/pass"] - figures["all"]
    return figures
