"""Constants of the method themis, read by the tests of every method (tests/papers)."""

from types import SimpleNamespace

import pytest
from helpers.methods import made

from handaxe.papers.themis.bound_source import bound_source

SHORT = ["--fit-groups", "2", "--fit-epochs", "1"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


@pytest.mark.parametrize("words, plays", [([], True), (["--no-judge-tools"], False)])
def test_the_reward_model_alone_trains_the_policy(words, plays):
    method = made("themis", *words)
    (judge,) = method.learners
    assert judge._plays == plays and len(method.stages) == 1


def test_a_source_binds_the_judge_before_it_plays():
    seen = []
    judge = SimpleNamespace(bind=lambda engine, format: seen.append((engine, format)))
    site = SimpleNamespace(engine="engine", format="format")
    source = bound_source(judge=judge, source=lambda site: seen.append("played") or ["group"])
    assert source(site) == ["group"] and seen == [("engine", "format"), "played"]
