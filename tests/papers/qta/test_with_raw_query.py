from types import SimpleNamespace

import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.qta.retrieval_rank import retrieval_rank
from handaxe.papers.qta.tool_queries import NOTHING, tool_queries
from handaxe.papers.qta.with_raw_query import with_raw_query
from handaxe.rollouts.linear import linear
from handaxe.selection.pairs import ordered
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.training.stages.context import make_site


def test_the_raw_query_is_a_further_candidate_and_may_be_chosen():
    world, reward = tool_queries(), retrieval_rank()
    (task,) = world.tasks("train", 1, 0)
    rewrites = [make_trajectory(layouts=["Upp"], texts=["-"]) for _ in range(2)]
    rated = make_rated(group=make_group(trajectories=rewrites, task=task), outcome=[-200.0, -300.0])
    site = make_site(engine=SimpleNamespace(max_length=512), format=Compact(), env=world.env(world.tools))
    source = with_raw_query(lambda site: [rated], reward=reward, rollout=linear(max_turns=1), reply=NOTHING)
    (added,) = source(site)
    raw = added.group[2]
    assert raw.final_text == NOTHING and raw.num_tokens and added.trained.all()
    assert added.scores.outcome.tolist()[:2] == [-200, -300] and -200 < added.scores.outcome[2] < 0
    (pair,) = ordered(most=1)([added])
    assert pair.chosen is raw and pair.rejected is added.group[1]
