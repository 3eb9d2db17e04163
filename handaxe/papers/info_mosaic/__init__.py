"""InfoMosaic-Bench (arXiv:2510.02271): joint questions over three sources, with a filter of shortcuts."""

import random
from collections.abc import Collection, Sequence

from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.papers.info_mosaic.compose_question import MosaicQuestion, compose_question
from handaxe.papers.info_mosaic.mosaic_metrics import CORRECT, mosaic_metrics
from handaxe.papers.info_mosaic.mosaic_sources import SOURCES, MosaicSources, load_sources
from handaxe.papers.info_mosaic.source_solver import needs_all_sources, source_solver

__all__ = ["info_mosaic"]

SOLVERS: dict[str, Collection[str]] = {**{one: (one,) for one in SOURCES}, "all": SOURCES}
"""Solver -> allowed sources."""


def info_mosaic(*, drawn: int = 600, tries: int = 3, repeats: int = 8) -> StudyFunction:
    """Compose questions, filter shortcuts, and answer with each source alone and with all sources.

    Figures:
        funnel/drawn, .../composed, .../kept    draws, questions with a single answer, and questions after the filter
        funnel/fuzzed                           share of composed questions with a condition that was made vaguer
        SET/SOLVER, SET/SOLVER/pass_rate        accuracy and pass rate; SET is composed or kept
        SET/single                              highest accuracy of a solver with one source
        gap/sources                             kept/all less kept/single
        gap/filter                              composed/single less kept/single
        web/partial                             pass rate less accuracy of the web solver on kept questions
    The random numbers of the measured answers differ from those of the filter.

    Args:
        drawn: draws of a country with conditions.
        tries: of each source in the filter.
        repeats: answers of each solver to each question.
    """

    def measure(seed: int) -> dict[str, float]:
        sources = load_sources()
        rng = random.Random(derive_seed("info mosaic", seed))
        made = [one for one in (compose_question(sources, rng) for _ in range(drawn)) if one is not None]
        kept = [one for number, one in enumerate(made) if _is_kept(sources, one, tries, derive_seed(seed, number))]
        figures = {"funnel/drawn": drawn, "funnel/composed": len(made), "funnel/kept": len(kept)}
        found: dict[str, float] = {name: float(value) for name, value in figures.items()}
        found["funnel/fuzzed"] = sum(one.fuzzed > 0 for one in made) / len(made)
        for name, questions in (("composed", made), ("kept", kept)):
            scores = _scores(sources, questions, repeats, seed)
            found |= {f"{name}/{key}": value for key, value in scores.items()}
            found[f"{name}/single"] = max(scores[one] for one in SOURCES)
        found["gap/sources"] = found["kept/all"] - found["kept/single"]
        found["gap/filter"] = found["composed/single"] - found["kept/single"]
        found["web/partial"] = found["kept/web/pass_rate"] - found["kept/web"]
        return found

    return measure


def _is_kept(sources: MosaicSources, question: MosaicQuestion, tries: int, seed: int) -> bool:
    def solves(source: str, number: int) -> bool:
        rng = random.Random(derive_seed("shortcut", seed, source, number))
        return source_solver(sources, question, (source,), rng) == question.answer

    return needs_all_sources(solves, SOURCES, tries=tries)


def _scores(sources: MosaicSources, questions: Sequence[MosaicQuestion], repeats: int, seed: int) -> dict[str, float]:
    found = dict[str, float]()
    for name, allowed in SOLVERS.items():
        labels: list[int] = []
        passes: list[list[bool]] = []
        rng = random.Random(derive_seed("mosaic answers", seed, name))
        for question in questions:
            for _ in range(repeats):
                answer = source_solver(sources, question, allowed, rng)
                cases = [answer in sources.find(one) for one in question.conditions]
                labels.append(CORRECT if answer == question.answer else int(sum(cases) == len(cases) - 1))
                passes.append(cases)
        metrics = mosaic_metrics(labels, passes)
        found |= {name: metrics["accuracy"], f"{name}/pass_rate": metrics["pass_rate"]}
    return found
