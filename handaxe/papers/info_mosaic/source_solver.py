"""Solver of joint questions with some of the sources, and the filter of questions that one source answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence

from handaxe.core.errors import InputError
from handaxe.papers.info_mosaic.compose_question import MosaicQuestion
from handaxe.papers.info_mosaic.mosaic_sources import MosaicSources

__all__ = ["RESULTS", "needs_all_sources", "source_solver"]

RESULTS = 10
"""Pages that a solver reads for a condition."""


def source_solver(
    sources: MosaicSources, question: MosaicQuestion, allowed: Collection[str], rng: random.Random
) -> str:
    """Answer with the conditions of the allowed sources: a draw from the countries that meet the most of them.

    A search reads ten pages, so that a country may be missed. Conditions of other sources are ignored.

    Args:
        sources: for queries and searches.
        question: with conditions.
        allowed: names of sources, one or more.
        rng: of the draw.

    Returns:
        Name of a country.

    Raises:
        InputError: no condition is of an allowed source.

    Example:
        five countries have the currency and one of them the neighbour: with "countries" alone, the answer is correct
        with probability 1 / 5

    Paper: arXiv:2510.02271 (InfoMosaic-Bench), solvers with web search alone and with all tools.
    Differs: rules instead of language models.
    """
    asked = [one for one in question.conditions if one.source in allowed]
    if not asked:
        raise InputError(f"no condition of the question is of the sources {sorted(allowed)}: allow one of its sources")
    found = [sources.find(one, results=RESULTS) for one in asked]
    known = frozenset[str]().union(*found) or frozenset(sources.names)
    met = {name: sum(name in names for names in found) for name in known}
    most = max(met.values())
    return rng.choice(sorted(name for name, count in met.items() if count == most))


def needs_all_sources(solves: Callable[[str, int], bool], sources: Sequence[str], *, tries: int) -> bool:
    """Decide whether a question is kept: no solver with a single source is correct in any try.

        keep = not any_s any_t solves(s, t)

    Args:
        solves: (source, number of the try) -> whether the answer is correct.
        sources: names, each tried alone.
        tries: of each source, 1 or more.

    Raises:
        InputError: no source, or tries below 1.

    Example:
        two sources with two tries: wrong, wrong and wrong, wrong -> kept; one correct answer -> dropped

    Paper: arXiv:2510.02271 (InfoMosaic-Bench), the filter of shortcuts.
    Unconfirmed: the number of tries.
    """
    if not sources or tries < 1:
        raise InputError(f"the filter tries 1 source or more, once or more, not {len(sources)} and {tries}")
    return not any(solves(source, number) for source in sources for number in range(tries))
