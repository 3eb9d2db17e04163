"""Search moves equal minigrid's steps, and paths are shortest."""

import random
from itertools import product

import pytest

pytest.importorskip("minigrid")

from handaxe.worlds.minigrid_text.grid import WORDS, GridGame
from handaxe.worlds.minigrid_text.shortest_path import (
    CLOSED,
    LOCKED,
    OPEN,
    GridLayout,
    GridState,
    _acts,
    shortest,
    spoils,
)

CORRIDOR = GridLayout(frozenset({(0, 0), (4, 0)}), frozenset({(3, 0)}), (), (), -1)
KINDS = [("doorkey", 5), ("doorkey", 6), ("keycorridor", 1), ("keycorridor", 2), ("fourrooms", 19)]
LONG = [
    ("multiroom", 2),
    ("crossing", 7),
    ("unlockpickup", 6),
    ("blockedunlockpickup", 6),
    ("obstructedmaze", 2),
    ("lockedroom", 19),
]


def walked(game, words):
    for word in words:
        game._env.step(WORDS.index(word))
    return game.current_state()


def test_shortest_path_of_the_example():
    assert shortest(CORRIDOR, GridState((1, 0), 0, -1, (), ())) == ("forward", "forward")
    assert shortest(CORRIDOR, GridState((3, 0), 0, -1, (), ())) == ()
    behind = shortest(CORRIDOR, GridState((1, 0), 2, -1, (), ()))
    assert len(behind) == 4 and behind[2:] == ("forward", "forward") and len(set(behind[:2])) == 1
    walled = CORRIDOR._replace(walls=frozenset(product((0, 2), (-1, 0, 1))) | {(1, -1), (1, 1)})
    assert shortest(walled, GridState((1, 0), 0, -1, (), ())) is None


def test_a_door_opens_with_the_key_of_its_colour_only():
    ways = CORRIDOR._replace(doors=(((2, 0), "red"),), things=(("key", "red"), ("key", "blue"), ("ball", "red")))
    for holds, door, opens in ((0, LOCKED, True), (1, LOCKED, False), (2, LOCKED, False), (-1, CLOSED, True)):
        state = GridState((1, 0), 0, holds, (None, None, None), (door,))
        assert [there.doors for word, there in _acts(ways, state) if word == "toggle"] == [(OPEN,)] * opens


@pytest.mark.parametrize(("kind", "size"), [*KINDS, *LONG])
def test_search_moves_equal_minigrid_steps(kind, size):
    """Random walk: each known move has minigrid's result; an unknown action changes nothing, closes a door, or drops an
    object without need.
    """
    game = GridGame(kind, size, 3, brief=True)
    rng, state = random.Random(0), game.state
    moved = 0
    for _ in range(150):
        known = dict(_acts(game.ways, state))
        word = rng.choice(WORDS)
        if state.ended(game.ways):
            break
        there = walked(game, [word])
        if word in known:
            assert there == known[word]
            moved += 1
        else:
            closed = sum(there.doors) > sum(state.doors) or spoils(game.ways, state, word)
            assert there == state or (word == "toggle" and closed) or (word == "drop" and game.ways.wanted < 0)
        state = there
    assert moved > 20


@pytest.mark.parametrize(("kind", "size"), [*KINDS[:3], LONG[0], LONG[1]])
def test_a_shortest_path_solves_the_grid_and_no_shorter_path_does(kind, size):
    game = GridGame(kind, size, 1, brief=True)
    way = shortest(game.ways, game.state)
    states = {game.state}
    for step in range(len(way)):
        assert not any(one.ended(game.ways) for one in states), step
        states = {there for one in states for _, there in _acts(game.ways, one)}
    assert any(one.ended(game.ways) for one in states)
    *before, last = way
    assert not walked(game, before).ended(game.ways) and walked(game, [last]).ended(game.ways)


def test_a_key_in_a_box_is_free_once_the_box_is_opened():
    box, key = (2, 0), ("key", "red")
    ways = CORRIDOR._replace(things=(("box", "blue"), key, ("box", "grey")), inside=(1, -1, -1))
    state = GridState((1, 0), 0, -1, (box, None, (9, 9)), ())
    opened = dict(_acts(ways, state))["toggle"]
    assert opened.lie == (None, box, (9, 9)) and opened.holds == -1
    assert dict(_acts(ways, opened))["pickup"].holds == 1


def test_only_opening_an_empty_box_spoils_a_grid():
    ways = CORRIDOR._replace(things=(("box", "blue"), ("key", "red")), inside=(1, -1))
    full = GridState((1, 0), 0, -1, ((2, 0), None), ())
    empty = ways._replace(inside=(-1, -1))
    assert spoils(empty, full, "toggle") and not spoils(empty, full, "forward") and not spoils(ways, full, "toggle")
    assert "toggle" not in dict(_acts(empty, full)) and not spoils(empty, full._replace(facing=2), "toggle")


def test_the_key_of_an_obstructed_maze_is_in_its_box():
    game = GridGame("obstructedmaze", 2, 0, brief=True)
    box = next(n for n, one in enumerate(game.ways.things) if one[0] == "box")
    key = game.ways.inside[box]
    assert game.ways.things[key][0] == "key" and game.state.lie[key] is None
    way = shortest(game.ways, game.state)
    after = walked(game, way)
    assert after.ended(game.ways) and after.lie[box] is None and "toggle" in way
