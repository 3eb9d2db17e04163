import random

import pytest

pytest.importorskip("bm25s")

from handaxe.papers.info_mosaic.compose_question import _around, _of_countries, _of_web, compose_question
from handaxe.papers.info_mosaic.mosaic_sources import SOURCES, MosaicSources
from handaxe.worlds.atlas.atlas_records import City, Country, Records


@pytest.fixture(scope="module")
def sources():
    """Twelve countries in a circle, with three currencies."""
    codes = [str(place) for place in range(12)]
    lands, cities = {}, {}
    for place, code in enumerate(codes):
        near = (codes[place - 1], codes[(place + 1) % 12])
        money, area = "ABC"[place % 3] * 3, 100 + 4 * place
        lands[code] = Country(code, f"Land{place}", "North", (), None, None, money, f".{place}", (area, area), near)
        cities[code] = City(code, f"City{place}", code, 1000 + 30 * place, f"Zone/{place % 4}")
    return MosaicSources(Records(lands, cities, {}))


def test_a_question_has_one_answer_and_no_condition_identifies_it_alone(sources):
    rng = random.Random(900)
    made = [one for one in (compose_question(sources, rng) for _ in range(60)) if one is not None]
    assert len(made) > 10 and sum(one.fuzzed > 0 for one in made) > 0
    for one in made:
        met = [sources.find(condition) for condition in one.conditions]
        assert [condition.source for condition in one.conditions] == list(SOURCES)
        assert frozenset.intersection(*met) == {one.answer} and all(len(names) > 1 for names in met)
        assert one.text.count(";") == 2


def test_a_domain_is_replaced_by_a_vaguer_condition(sources):
    steps = next(
        found for found in (_of_web(sources, "Land3", random.Random(seed)) for seed in range(20)) if len(found) == 3
    )
    assert [one.values[0] for one in steps] == ["domain", "neighbour", "count"]
    assert [len(sources.find(one)) for one in steps] == [1, 2, 12]


def test_ranges_widen_and_unknown_countries_have_no_conditions(sources):
    assert _around(1000, 0.1) == (900, 1100) and _around(1000, 0.6) == (400, 1600)
    assert _of_countries(sources, "Nowhere", random.Random(0)) == _of_web(sources, "Nowhere", random.Random(0)) == []
