from collections import Counter

import pytest

pytest.importorskip("bm25s")
from helpers.case_reader import CaseReader

from handaxe.evaluation.frozen_policy import FrozenPolicy
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.dynaicl.shown_examples import ExamplePlayer, make_pool
from handaxe.worlds.hops.coded_hops import coded_hops


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield coded_hops(codes=2, shown=0, plain=0.3, size=40)


def test_the_pool_has_the_shares(world):
    pool = make_pool(world, shares=(0.75, 0.25), count=8, seed=0)
    assert sorted(Counter(line.split()[2] for line in pool).values()) == [2, 6]
    assert all(line.startswith("+ ") for line in pool) and pool == make_pool(
        world, shares=(0.75, 0.25), count=8, seed=0
    )


def test_plain_questions_need_no_demonstration_and_coded_ones_need_their_own(world):
    pool = make_pool(world, shares=(0.5, 0.5), count=8, seed=0)
    policy = FrozenPolicy(world, CaseReader(world, lambda person: []), Compact())
    player, tasks = ExamplePlayer(policy, pool), world.tasks("test", 20, 0)
    plain = [float(task.metadata["code"] == "plain") for task in tasks]
    assert player.correct(tasks, [0] * 20, seed=0) == plain
    assert player.correct(tasks, [8] * 20, seed=0) == [1.0] * 20
    some = player.correct(tasks, [1] * 20, seed=0)
    assert sum(plain) < sum(some) < 20 and some == player.correct(tasks, [1] * 20, seed=0)
