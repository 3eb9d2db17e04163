import random

import pytest
from helpers.tree_play import WORDS, play_tree, words_of

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.core.validation import check_group
from handaxe.papers.tp_llama.decision_tree import TREE, is_failed


def slow_tree(words, children, nodes, depth):
    """The same search on words, in loops: leaves in order of their turns, and the success path."""
    leaves = []
    left = nodes
    success = None
    stack = [([], 0)]
    while stack and success is None:
        path, tried = stack.pop()
        if tried == children:
            continue
        if left == 0:
            break
        left -= 1
        word = words[nodes - left - 1]
        child = [*path, word]
        stack.append((path, tried + 1))
        if word == "x" or len(word) > 1 or len(child) == depth:
            leaves.append(child)
            success = child if word == "yes" else None
        else:
            stack.append((child, 0))
    return leaves, success, nodes - left


def test_decision_tree_matches_its_example():
    sampled = []
    found = play_tree(WORDS, sampled=sampled)
    assert sampled == [("", "x"), ("", "2"), ("2", "no"), ("2", "yes")]
    assert [words_of(one) for one in found] == [["2", "yes"], ["2", "no"], ["x"]]
    assert [one.notes[TREE] for one in found] == [{"nodes": 4, "success": n == 0} for n in range(3)]
    assert [one.ending.kind for one in found] == ["completed", "completed", "truncated"]
    assert found[2].ending.reason == "stopped"
    check_group(Group(found[0].task, tuple(found)))


def test_decision_tree_equals_a_slow_loop():
    rng = random.Random(0)
    solved = 0
    for n in range(40):
        words = [rng.choice(["x", "1", "2", "3", "no", "no", "yes"]) for _ in range(12)]
        children, depth = rng.randint(1, 3), rng.randint(1, 3)
        found = play_tree(words, children=children, nodes=12, max_turns=depth, seed=n)
        leaves, success, count = slow_tree(words, children, 12, depth)
        played = [words_of(one) for one in found]
        assert all(leaf in played for leaf in leaves)
        assert [words_of(one) for one in found if one.notes[TREE]["success"]] == ([success] if success else [])
        assert {one.notes[TREE]["nodes"] for one in found} == {count}
        solved += success is not None
    assert 5 < solved < 35


def test_an_exhausted_tree_has_no_success():
    found = play_tree(["x", "x", "no"])
    assert len(found) == 3 and not any(one.notes[TREE]["success"] for one in found)
    assert play_tree(["1", "x", "2"], nodes=2)[0].notes[TREE]["nodes"] == 2


def test_a_turn_fails_by_its_reply():
    success, _, failed = play_tree(WORDS)
    assert is_failed(failed.turns[0]) and not any(map(is_failed, success.turns))


def test_decision_tree_rejects_invalid_arguments():
    with pytest.raises(InputError, match="children=0"):
        play_tree(WORDS, children=0)
