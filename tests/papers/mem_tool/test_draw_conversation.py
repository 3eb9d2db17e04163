import pytest

pytest.importorskip("bfcl_eval")

from handaxe.papers.mem_tool.draw_conversation import draw_conversation


def test_a_share_of_the_requests_needs_several_tools():
    drawn = draw_conversation(10, several=0.4, seed=1)
    needed = [len(one.needed) for one in drawn]
    assert sum(count > 1 for count in needed) == 4 and sum(count == 1 for count in needed) == 6
    assert len({one.id for one in drawn}) == 10 and needed != sorted(needed)
    assert drawn == draw_conversation(10, several=0.4, seed=1) != draw_conversation(10, several=0.4, seed=2)
