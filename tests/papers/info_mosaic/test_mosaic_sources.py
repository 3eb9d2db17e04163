import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError
from handaxe.papers.info_mosaic.mosaic_sources import MosaicSources, SourceCondition
from handaxe.worlds.atlas.atlas_records import City, Country, Records


def country(code, name, money, area, near):
    return Country(code, name, "North", (), None, None, money, f".{name[:2].lower()}", (area, area), near)


def small_records():
    """Four countries in a row: Aland - Bland - Cland - Dland."""
    lands = [
        country("1", "Aland", "AAA", 100, ("2",)),
        country("2", "Bland", "BBB", 105, ("1", "3")),
        country("3", "Cland", "AAA", 900, ("2", "4")),
        country("4", "Dland", "BBB", 950, ("3",)),
    ]
    cities = [
        City(str(10 + place), f"City {place}", str(place), 1000 * place, f"Zone/{place % 2}") for place in (1, 2, 3, 4)
    ]
    return Records({one.code: one for one in lands}, {one.code: one for one in cities}, {})


@pytest.fixture(scope="module")
def sources():
    return MosaicSources(small_records())


@pytest.mark.parametrize(
    "source, query, values, names",
    [
        ("countries", "SELECT name FROM countries WHERE money = ?", ("AAA",), {"Aland", "Cland"}),
        (
            "cities",
            "SELECT DISTINCT country FROM cities WHERE people BETWEEN ? AND ?",
            (1500, 3500),
            {"Bland", "Cland"},
        ),
        ("web", "neighbours Bland", ("neighbour", "Bland"), {"Aland", "Cland"}),
        ("web", "domain .dl", ("domain", ".dl"), {"Dland"}),
        ("web", "neighbours", ("count", 2), {"Bland", "Cland"}),
    ],
)
def test_conditions_of_every_source(sources, source, query, values, names):
    condition = SourceCondition(source, "", query, values)
    assert sources.find(condition) == names
    assert sources.find(condition, results=10) <= names


def test_pages_state_domain_and_neighbours(sources):
    assert sources.pages[1] == "Bland has the domain .bl. Neighbours: Aland, Cland."
    assert sources.pages[1] in sources.search("neighbours Bland", 3)


@pytest.mark.parametrize(
    "sql", ["DROP TABLE countries", "SELECT nothing FROM countries", "INSERT INTO cities VALUES (1)"]
)
def test_wrong_queries_raise(sources, sql):
    with pytest.raises(InputError, match="write a SELECT"):
        sources.query(sql)
    assert len(sources.query("SELECT name FROM countries")) == 4
