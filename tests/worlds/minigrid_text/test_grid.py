import pytest

pytest.importorskip("minigrid")

from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Door, Goal, Key

from handaxe.core.errors import Failed, Retry
from handaxe.worlds.minigrid_text.grid import GridGame, start_grid, state_to_json


def room(*placed, brief=True, at=(2, 3), facing=3, size=6):
    """A room with objects at given cells, and an agent that faces up."""
    game = GridGame("doorkey", size, 0, brief=brief)
    env = game._env
    env.grid = Grid(size, size)
    env.grid.wall_rect(0, 0, size, size)
    for thing, (x, y) in placed:
        env.grid.set(x, y, thing)
    env.agent_pos, env.agent_dir = at, facing
    env.carrying = None
    return game


def test_the_view_is_described_from_the_agents_position():
    """Nothing behind the agent, distances ahead and to the side in cells, and free cells; a goal can be entered."""
    things = ((Key("yellow"), (1, 1)), (Goal(), (4, 3)), (Ball("red"), (2, 4)))
    assert room(*things).seen == "a2l1r2 goal r2 key f2l1"
    assert room(*things, facing=0).seen == "a2l2 ball r1 goal f2"
    assert room(*things, facing=1).seen == "l2r1 ball f1 goal l2"
    assert room(*things, brief=False).seen == (
        "You can go 2 ahead, 1 to the left and 2 to the right. You see this green goal: 2 to the right. "
        "You see this yellow key: 2 ahead, 1 to the left."
    )


def test_closed_doors_hide_the_cells_behind():
    walls = [(x, 2) for x in (1, 3, 4)]
    door = Door("yellow", is_locked=True)
    game = room((door, (2, 2)), (Goal(), (2, 1)))
    for place in walls:
        game._env.grid.set(*place, game._env.grid.get(0, 0))
    assert game.seen == "l1r2 locked f1"
    door.is_locked = False
    assert game.seen == "l1r2 closed f1"
    door.is_open = True
    game._env.carrying = Key("yellow")
    assert game.seen == "a2l1r2 +key open f1 goal f2"
    game._brief = False
    assert game.seen.endswith("You see this green goal: 2 ahead. You hold a yellow key.")


def test_balls_have_their_colours_if_the_grid_has_two():
    def seen(size):
        game = GridGame("obstructedmaze", size, 0, brief=True)
        return {game.seen, *(game.act(word) for word in start_grid("obstructedmaze", size, 0, brief=True).way[:-1])}

    assert any("blue ball" in text for text in seen(3)) and any("green ball" in text for text in seen(3))
    assert any(" ball" in text for text in seen(1)) and not any("blue ball" in text for text in seen(1))


def test_view_of_walls_has_the_distances_of_walls_and_doors():
    assert room(at=(1, 1), size=5).seen == "r2"
    blocked = room((Door("red"), (1, 1)), (Door("red"), (3, 1)), at=(2, 1))
    assert blocked.seen == "closed l1 closed r1"


def test_report_counts_actions_and_effects():
    first = start_grid("doorkey", 5, 0, brief=True)
    game = GridGame("doorkey", 5, 0, brief=True)
    assert state_to_json(first.state) == {k: v for k, v in game.report().items() if k not in ("won", "steps", "done")}
    assert game.act(" LEFT ") == game.seen
    for word, error, said in (("pickup", Failed, "nothing happens"), ("fly", Failed, "no such word")):
        with pytest.raises(error, match=said):
            while True:  # until the cell ahead is empty
                game.act(word)
    assert game.report()["steps"] > game.report()["done"]
    solved = GridGame("doorkey", 5, 0, brief=True)
    said = [solved.act(word) for word in first.way]
    assert said[-1] == "done" and "done" not in said[:-1] and solved.is_over
    assert solved.report()["won"] and solved.report()["steps"] == solved.report()["done"] == len(first.way)
    with pytest.raises(Retry, match="over"):
        solved.act("left")


def test_a_snapshot_restores_repeatedly():
    way = start_grid("doorkey", 5, 0, brief=True).way
    game, other = GridGame("doorkey", 5, 0, brief=True), GridGame("doorkey", 5, 0, brief=True)
    for word in way[:4]:
        game.act(word)
    state, seen = game.snapshot(), game.seen
    reported = game.report()
    for one in (game, other, other):
        for word in way[4:] if one is game else ():
            one.act(word)
        one.restore(state)
        assert one.report() == reported and one.seen == seen
        assert [one.act(word) for word in way[4:]][-1] == "done"


def test_equal_seeds_give_equal_grids():
    assert start_grid("keycorridor", 1, 4, brief=True) == start_grid("keycorridor", 1, 4, brief=True)
    assert start_grid("doorkey", 6, 4, brief=True).drawing != start_grid("doorkey", 6, 5, brief=True).drawing
