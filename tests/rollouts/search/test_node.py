"""What a node says of itself; `grow` and trees of many are played in test_mcts.py."""

from types import SimpleNamespace

from handaxe.rollouts.search.node import Node, place_of


def node(*, turns, over=False, depth=0, **facts):
    said = [SimpleNamespace(sequence=k, start=10 * k) for k in range(turns)]
    play = SimpleNamespace(over=over, turns=said, attempt=SimpleNamespace(id="t/0"))
    return Node(play, depth=depth, **facts)


def test_over_here_and_not_where_it_went_on():
    assert node(turns=2, over=True, depth=2).terminal
    assert not node(turns=2, over=True, depth=1).terminal
    assert not node(turns=2, depth=2).terminal


def test_closed_once_seen_or_below_closed_ones():
    end = node(turns=1, over=True, depth=1)
    assert not end.closed
    end.visits = 1
    assert end.closed and node(turns=1, depth=1, dead=True).closed
    above = node(turns=1, children=[end, node(turns=1, depth=1)])
    assert not above.closed
    above.children[1].dead = True
    assert above.closed


def test_the_path_begins_at_the_root_and_a_place_is_where_its_turn_began():
    root = node(turns=2)
    child = node(turns=2, depth=1, parent=root)
    assert child.path == [root, child]
    assert place_of(child) == ("t/0", 1, 10)
