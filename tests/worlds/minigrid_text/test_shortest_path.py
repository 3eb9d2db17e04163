"""Search moves equal minigrid's steps, and paths are shortest."""

import random
from itertools import product

import pytest

pytest.importorskip("minigrid")

from handaxe.worlds.minigrid_text.grid import WORDS, GridGame
from handaxe.worlds.minigrid_text.shortest_path import CLOSED, LOCKED, OPEN, GridLayout, GridState, _acts, shortest

CORRIDOR = GridLayout(frozenset({(0, 0), (4, 0)}), frozenset({(3, 0)}), (), (), -1)
KINDS = [("doorkey", 5), ("doorkey", 6), ("keycorridor", 1), ("keycorridor", 2), ("fourrooms", 19)]


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


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_search_moves_equal_minigrid_steps(kind, size):
    """Random walk: each known move has minigrid's result; an unknown action changes nothing, closes a door, or drops an
    object without need.
    """
    game = GridGame(kind, size, 3, brief=True)
    rng, state, moved = random.Random(0), game.state, 0
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
            closed = sum(there.doors) > sum(state.doors)
            assert there == state or (word == "toggle" and closed) or (word == "drop" and kind == "doorkey")
        state = there
    assert moved > 20


@pytest.mark.parametrize(("kind", "size"), KINDS[:3])
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
