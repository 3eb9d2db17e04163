import contextlib
import copy

import pytest

from handaxe.core.errors import Failed, InputError
from handaxe.papers.grappa.object_tracker import ObjectTracker
from handaxe.papers.grappa.predict_state import predict_state
from handaxe.worlds.minigrid_text.grid import WORDS


def state(**changes):
    return {"agent": [1, 1], "facing": 0, "free": 0, "holds": "", "objects": {}, **changes}


KEY, LOCKED = {"key": {"at": [2, 1], "state": ""}}, {"door": {"at": [2, 1], "state": "locked"}}


def test_predict_state_matches_its_example():
    before = state(objects=KEY)
    kept = copy.deepcopy(before)
    assert predict_state(before, "pickup") == state(holds="key") and before == kept


@pytest.mark.parametrize(
    "before, word, after",
    [
        (state(), "left", state(facing=3, free=1)),
        (state(facing=3), "right", state(facing=0, free=1)),
        (state(free=2), "forward", state(agent=[2, 1], free=1)),
        (state(), "forward", state()),
        (state(objects=KEY, holds="ball"), "pickup", state(objects=KEY, holds="ball")),
        (state(objects=LOCKED), "pickup", state(objects=LOCKED)),
        (state(objects=LOCKED), "toggle", state(objects=LOCKED)),
        (
            state(objects=LOCKED, holds="key"),
            "toggle",
            state(objects={"door": {"at": [2, 1], "state": "open"}}, holds="key"),
        ),
        (state(), "toggle", state()),
        (state(holds="key", free=1), "drop", state(objects=KEY, free=1)),
        (state(holds="key"), "drop", state(holds="key")),
        (state(free=1), "drop", state(free=1)),
    ],
)
def test_actions_change_what_they_reach(before, word, after):
    assert predict_state(before, word) == after


def test_predictions_equal_minigrid_but_for_the_free_cells():
    """Slow twin: the real game, by random actions; a new object may come into view."""
    pytest.importorskip("minigrid")
    import random

    from handaxe.worlds.minigrid_text.grid import GridGame

    rng = random.Random(0)
    for seed in range(6):
        game, tracker = GridGame("doorkey", 6, seed, brief=False), ObjectTracker()
        for _ in range(60):
            tracker.observe(game.seen, game.state.at, game.state.facing)
            word = rng.choice(WORDS)
            predicted = predict_state(tracker.state(game.state.at, game.state.facing), word)
            with contextlib.suppress(Failed):
                game.act(word)
            if game.is_over:
                break
            tracker.observe(game.seen, game.state.at, game.state.facing)
            real = tracker.state(game.state.at, game.state.facing)
            assert {name: real[name] for name in ("agent", "facing", "holds")} == {
                name: predicted[name] for name in ("agent", "facing", "holds")
            }
            assert predicted["objects"].items() <= real["objects"].items()


def test_an_unknown_action_is_rejected():
    with pytest.raises(InputError, match="'jump' is no action"):
        predict_state(state(), "jump")
