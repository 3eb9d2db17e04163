import pytest

from handaxe.core.errors import Failed, InputError
from handaxe.papers.grappa.object_tracker import ObjectTracker, TrackedObject, front_cell
from handaxe.worlds.minigrid_text.shortest_path import LOCKED, OPEN

ROOM = "You can go 1 ahead, 0 to the left and 0 to the right."


def tracked(text, at=(3, 3), facing=0):
    tracker = ObjectTracker()
    tracker.observe(f"{ROOM} {text}", at, facing)
    return tracker


def test_object_tracker_matches_its_example():
    assert tracked("You see this yellow key: 2 ahead, 1 to the right.").objects == {"key": TrackedObject((5, 4))}


@pytest.mark.parametrize("facing, place", [(0, (5, 2)), (1, (4, 5)), (2, (1, 4)), (3, (2, 1))])
def test_places_turn_with_the_agent(facing, place):
    """Two cells ahead and one to the left of (3, 3)."""
    found = tracked("You see this locked red door: 2 ahead, 1 to the left.", facing=facing)
    assert found.objects == {"door": TrackedObject(place, "locked")}
    assert front_cell((3, 3), facing) == ((4, 3), (3, 4), (2, 3), (3, 2))[facing]


def test_an_object_out_of_view_keeps_its_place_and_a_held_one_loses_it():
    tracker = tracked("You see this yellow key: 1 ahead.")
    tracker.observe(ROOM, (3, 3), 1)
    assert tracker.objects == {"key": TrackedObject((4, 3))} and tracker.holds == ""
    tracker.observe(f"{ROOM} You hold a yellow key.", (3, 3), 1)
    assert tracker.objects == {} and tracker.holds == "key"
    tracker.observe("You can go 0 ahead, 1 to the left and 0 to the right.", (3, 3), 1)
    assert tracker.state((3, 3), 1) == {"agent": [3, 3], "facing": 1, "free": 0, "holds": "", "objects": {}}


def test_the_nearer_of_two_objects_is_tracked():
    text = "You see this yellow key: 1 ahead. You see this red key: 2 ahead."
    assert tracked(text).objects == {"key": TrackedObject((4, 3))}


def test_places_equal_those_of_minigrid():
    """Slow twin: the layout of the game; the agent turns once around and walks the expert's way."""
    pytest.importorskip("minigrid")
    from handaxe.worlds.minigrid_text.grid import GridGame
    from handaxe.worlds.minigrid_text.shortest_path import shortest

    for seed in range(6):
        game, tracker, seen = GridGame("doorkey", 6, seed, brief=False), ObjectTracker(), set()
        words = ["left"] * 4
        while not game.is_over:
            tracker.observe(game.seen, game.state.at, game.state.facing)
            (key,), ((door, _),), (goal,) = game.state.lie, game.ways.doors, game.ways.goals
            real = {"key": key, "door": door, "goal": goal}
            for name, one in tracker.objects.items():
                assert one.at == real[name]
                seen.add(name)
            assert (tracker.holds == "key") == (game.state.holds == 0)
            if "door" in tracker.objects and tracker.objects["door"].state == "open":
                assert game.state.doors == (OPEN,)
            word = words.pop() if words else shortest(game.ways, game.state)[0]
            try:
                game.act(word)
            except Failed:
                pytest.fail(f"{word} has no effect")
        assert seen == {"key", "door", "goal"} and game.state.doors != (LOCKED,)


def test_another_text_is_rejected():
    with pytest.raises(InputError, match="is no view in words"):
        ObjectTracker().observe("a1l2 +key", (1, 1), 0)
