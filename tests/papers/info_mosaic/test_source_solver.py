import random

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.info_mosaic.compose_question import MosaicQuestion
from handaxe.papers.info_mosaic.mosaic_sources import SourceCondition
from handaxe.papers.info_mosaic.source_solver import needs_all_sources, source_solver

MET = {"countries": {"A", "B", "C"}, "cities": {"A", "D"}, "web": set()}


class Fixed:
    """Sources with fixed answers."""

    names = ("A", "B", "C", "D")

    def find(self, condition, *, results=None):
        return frozenset(MET[condition.source])


QUESTION = MosaicQuestion("A", tuple(SourceCondition(source, "", "", ()) for source in MET), 0)


def answers(allowed):
    return {source_solver(Fixed(), QUESTION, allowed, random.Random(seed)) for seed in range(40)}


@pytest.mark.parametrize(
    "allowed, found",
    [
        (("countries",), {"A", "B", "C"}),
        (("cities",), {"A", "D"}),
        (("web",), {"A", "B", "C", "D"}),  # nothing found: a guess
        (("countries", "cities", "web"), {"A"}),
    ],
)
def test_a_solver_draws_from_the_countries_with_most_conditions(allowed, found):
    assert answers(allowed) == found


def test_a_question_is_kept_if_no_single_source_solves_it():
    asked = []

    def solves(source, number):
        asked.append((source, number))
        return (source, number) == right

    right = None
    assert needs_all_sources(solves, ("a", "b"), tries=2)
    assert asked == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    for right in asked[:4]:
        assert not needs_all_sources(solves, ("a", "b"), tries=2)
    right = ("b", 1)
    assert needs_all_sources(solves, ("a", "b"), tries=1)


def test_missing_sources_raise():
    with pytest.raises(InputError, match="allow one of its sources"):
        source_solver(Fixed(), QUESTION, ("video",), random.Random(0))
    for sources, tries in (((), 1), (("a",), 0)):
        with pytest.raises(InputError, match="once or more"):
            needs_all_sources(lambda source, number: True, sources, tries=tries)
