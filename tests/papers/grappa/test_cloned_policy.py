from collections import Counter

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.grappa.cloned_policy import ClonedPolicy, clone_expert
from handaxe.worlds.minigrid_text.grid import WORDS
from handaxe.worlds.minigrid_text.shortest_path import GridState

STATE = GridState((1, 1), 0, -1, ((2, 2),), (2,))
SEEN = ((1, 1), 0, False, (2,))


def test_cloned_policy_matches_its_example():
    policy = ClonedPolicy({SEEN: Counter(left=3)}, smoothing=0.5)
    found = policy.action_probs(STATE)
    assert found[WORDS.index("left")] == pytest.approx(3.5 / 6) and found[1:] == pytest.approx([0.5 / 6] * 5)


def test_places_of_objects_are_unknown_and_a_new_state_is_uniform():
    policy = ClonedPolicy({SEEN: Counter(left=3)})
    moved = STATE._replace(lie=((1, 3),))
    assert policy.action_probs(moved).tolist() == policy.action_probs(STATE).tolist()
    for other in (STATE._replace(facing=1), STATE._replace(holds=0), STATE._replace(doors=(0,))):
        assert policy.action_probs(other) == pytest.approx([1 / 6] * 6)


def test_the_clone_follows_the_expert_in_its_grid():
    pytest.importorskip("minigrid")
    from handaxe.worlds.minigrid_text.grid import GridGame
    from handaxe.worlds.minigrid_text.shortest_path import shortest

    policy = clone_expert(3, demonstrations=20)
    assert clone_expert(3, demonstrations=20)._counts == policy._counts
    game, turns = GridGame("doorkey", 6, 3, brief=False), 0
    while not game.is_over:
        assert turns < 40
        best = WORDS[int(policy.action_probs(game.state).argmax())]
        assert len(shortest(game.ways, game.state)) > 0
        game.act(best)
        turns += 1


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="a smoothing is above 0"):
        ClonedPolicy({}, smoothing=0.0)
    for options in ({"demonstrations": 0}, {"astray": 1.0}):
        with pytest.raises(InputError, match="give 1 demonstration or more"):
            clone_expert(0, **options)
