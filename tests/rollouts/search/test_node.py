"""What a node says of itself; `grow` and trees of many are played in test_mcts.py."""

from types import SimpleNamespace

from handaxe.rollouts.search.node import Node, fork_point


def node(*, turns, done=False, depth=0, **facts):
    said = [SimpleNamespace(sequence=k, start=10 * k) for k in range(turns)]
    play = SimpleNamespace(done=done, turns=said, attempt=SimpleNamespace(id="t/0"))
    return Node(play, depth=depth, **facts)


def test_terminal_only_at_the_last_turn_of_a_finished_play():
    assert node(turns=2, done=True, depth=2).terminal
    assert not node(turns=2, done=True, depth=1).terminal
    assert not node(turns=2, depth=2).terminal


def test_closed_if_visited_terminal_dead_or_all_children_closed():
    end = node(turns=1, done=True, depth=1)
    assert not end.closed
    end.visits = 1
    assert end.closed and node(turns=1, depth=1, dead=True).closed
    above = node(turns=1, children=[end, node(turns=1, depth=1)])
    assert not above.closed
    above.children[1].dead = True
    assert above.closed


def test_path_starts_at_the_root_and_place_is_the_start_of_the_turn():
    root = node(turns=2)
    child = node(turns=2, depth=1, parent=root)
    assert child.path == [root, child]
    assert fork_point(child) == ("t/0", 1, 10)
