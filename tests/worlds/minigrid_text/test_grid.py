import pytest

pytest.importorskip("minigrid")

from minigrid.core.grid import Grid
from minigrid.core.world_object import Ball, Door, Goal, Key

from handaxe.core.errors import Failed, Retry
from handaxe.worlds.minigrid_text.grid import GridGame, begin_grid, kept_of


def room(*placed, brief=True, at=(2, 3), facing=3, size=6):
    """A room with these things at these places, and an agent that looks up."""
    game = GridGame("doorkey", size, 0, brief=brief)
    env = game._env
    env.grid = Grid(size, size)
    env.grid.wall_rect(0, 0, size, size)
    for thing, (x, y) in placed:
        env.grid.set(x, y, thing)
    env.agent_pos, env.agent_dir, env.carrying = at, facing, None
    return game


def test_what_is_seen_is_told_from_where_the_agent_looks():
    """Nothing behind it, what is in front and aside in cells, and how far it can go; a goal can be entered."""
    things = ((Key("yellow"), (1, 1)), (Goal(), (4, 3)), (Ball("red"), (2, 4)))
    assert room(*things).seen == "a2l1r2 goal r2 key f2l1"
    assert room(*things, facing=0).seen == "a2l2 ball r1 goal f2"
    assert room(*things, facing=1).seen == "l2r1 ball f1 goal l2"
    assert room(*things, brief=False).seen == (
        "You can go 2 ahead, 1 to the left and 2 to the right. You see this green goal: 2 to the right. "
        "You see this yellow key: 2 ahead, 1 to the left."
    )


def test_doors_hide_what_is_behind_them_until_they_are_open():
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


def test_nowhere_to_go():
    assert room(at=(1, 1), size=5).seen == "r2"
    blocked = room((Door("red"), (1, 1)), (Door("red"), (3, 1)), at=(2, 1))
    assert blocked.seen == "closed l1 closed r1"


def test_acts_and_what_is_kept_of_them():
    first = begin_grid("doorkey", 5, 0, brief=True)
    game = GridGame("doorkey", 5, 0, brief=True)
    assert kept_of(first.state) == {k: v for k, v in game.report().items() if k not in ("won", "steps", "done")}
    assert game.act(" LEFT ") == game.seen
    for word, error, said in (("pickup", Failed, "nothing happens"), ("fly", Failed, "no such word")):
        with pytest.raises(error, match=said):
            while True:  # until there is nothing in front of it
                game.act(word)
    assert game.report()["steps"] > game.report()["done"]
    solved = GridGame("doorkey", 5, 0, brief=True)
    said = [solved.act(word) for word in first.way]
    assert said[-1] == "done" and "done" not in said[:-1] and solved.over
    assert solved.report()["won"] and solved.report()["steps"] == solved.report()["done"] == len(first.way)
    with pytest.raises(Retry, match="over"):
        solved.act("left")


def test_a_snapshot_is_gone_back_to_again_and_again():
    way = begin_grid("doorkey", 5, 0, brief=True).way
    game, other = GridGame("doorkey", 5, 0, brief=True), GridGame("doorkey", 5, 0, brief=True)
    for word in way[:4]:
        game.act(word)
    state, reported, seen = game.snapshot(), game.report(), game.seen
    for one in (game, other, other):
        for word in way[4:] if one is game else ():
            one.act(word)
        one.restore(state)
        assert one.report() == reported and one.seen == seen
        assert [one.act(word) for word in way[4:]][-1] == "done"


def test_a_grid_is_the_same_for_a_seed():
    assert begin_grid("keycorridor", 1, 4, brief=True) == begin_grid("keycorridor", 1, 4, brief=True)
    assert begin_grid("doorkey", 6, 4, brief=True).drawing != begin_grid("doorkey", 6, 5, brief=True).drawing
