"""The judge with the packaged policy: scores against direct log-probs, and a scripted rollout by hand."""

from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import StageContext
from handaxe.core.records import Group, Message, Sampling
from handaxe.core.requests import Measure
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.papers.anyprefer.knowledge_judge import KnowledgeJudge, answer_probability, knowledge_ids
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic


def context(policy, engine, world):
    return StageContext(engine, policy.format, world.env(world.tools), None, None, world.correct, Sampling())


@pytest.fixture(scope="module")
def judged():
    policy = load("tiny")
    world = arithmetic()
    judge = KnowledgeJudge()
    site = context(policy, LocalEngine(policy.model), world)
    judge.bind(site)
    return judge, site, world.tasks("train", 2, 0)


def test_probability_by_hand():
    assert answer_probability([np.log(0.5), np.log(0.125)]) == pytest.approx(0.25, abs=1e-6)
    assert answer_probability([]) == 0


def test_knowledge_is_everything_before_the_answer():
    one = make_trajectory(texts=["", "408"], calls=[["calculator"], []], replies=[["408"], []])
    assert knowledge_ids(one) == one.sequences[0].ids[: one.turns[1].start].tolist()
    one = make_trajectory(texts=[""], calls=[["calculator"]], replies=[["408"]])
    assert knowledge_ids(one) == one.sequences[-1].ids.tolist()


@pytest.mark.parametrize("tools", [(), ("calculator",)])
def test_scores_equal_a_slow_loop(judged, tools):
    judge, site, (task, _) = judged
    texts = ["12", str(task.answer), ""]
    rollouts = [replace(make_trajectory(texts=[text]), task=task, id=str(k)) for k, text in enumerate(texts)]
    score_G = judge.score(Group(task, tuple(rollouts)), env=site.env, tools=tools)
    ids = knowledge_ids(judge.gather(task, env=site.env, tools=tools))
    offered = judge.gather(task, env=site.env, tools=tools).tools
    assert [tool.name for tool in offered] == list(tools)
    for text, score in zip(texts, score_G, strict=True):
        answer = site.format.encode_turn(Message("assistant", text), offered)
        total = 0.0
        for k in range(len(answer)):
            (found,) = site.engine.measure([Measure([*ids, *answer[: k + 1]], len(ids) + k)])
            total += found["logp"][0]
        assert score == pytest.approx(np.exp(total / len(answer)) if text else 0.0, rel=1e-4)
    assert 0 < score_G[0] < 1


def test_the_judge_is_a_copy(judged):
    judge, site, _ = judged
    assert judge._known is not site.engine
    before = judge._known
    judge.bind(site)
    assert judge._known is before


def test_bad_input_says_what_to_do():
    with pytest.raises(InputError, match="call bind"):
        KnowledgeJudge().score(Group(make_task(), ()), env=None, tools=())
