"""Constants of the method ppr, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

from handaxe.ops.ragged import gather
from handaxe.testing.make_records import make_group, make_rated, make_task

pytest.importorskip("bm25s")

ABOUT_REWARDS = True


def test_both_sides_warm_the_critic_up_and_whiten_by_turn():
    method = made("ppr")
    assert (method.critic_warmup, method.critic_rate) == (2, 0.01)
    first = make_group(layouts=["Utp"], task=make_task(id="a"))
    both = make_group(layouts=["UtpUtp", "UtpUtp"], task=make_task(id="b"))
    rated = [make_rated(group=first, outcome=[1]), make_rated(group=both, outcome=[1, 0], advantage=[1.0, -1.0])]
    after = method.transform(rated)
    assert gather(both[0], after[1].advantages.tokens[0])[1] == pytest.approx(0.70711, abs=1e-5)
