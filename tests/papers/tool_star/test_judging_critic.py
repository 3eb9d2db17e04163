"""DPO on rollouts and on statements about rewards."""

import numpy as np

from handaxe.core.records import Scores
from handaxe.papers.tool_star.judging_critic import judging_critic

SMALL = {"groups": 2, "group_size": 3, "measured": 1, "warmup": 0, "epochs": 1, "batch_size": 2, "learning_rate": 0.01}


def test_statements_are_pairs_beside_rollouts(world, tmp_path):
    site = world.site(out=tmp_path)
    rows = judging_critic(**SMALL)(site)
    assert site.engine.version == len(rows) and rows[0]["pairs/judging"] >= 2
    assert all(0 <= rows[0][f"right/{when}"] <= 1 for when in ("before", "after"))


def test_without_judging_the_statements_are_measured_alone(world, tmp_path):
    equal = world.site(out=tmp_path / "a", reward=lambda group: Scores(np.zeros(len(group))))
    before = world.weights(equal.engine)
    (row,) = judging_critic(**SMALL, judging=False)(equal)
    assert world.same(before, world.weights(equal.engine)) and row["step"] == 0 and row["pairs/judging"] == 2
    taught = world.site(out=tmp_path / "b", reward=lambda group: Scores(np.zeros(len(group))))
    judging_critic(**SMALL)(taught)
    assert not world.same(before, world.weights(taught.engine)), "a statement pair needs no pair of rollouts"


def test_a_warm_up_teaches_true_statements_first(world, tmp_path):
    site = world.site(out=tmp_path, reward=lambda group: Scores(np.zeros(len(group))))
    before = world.weights(site.engine)
    judging_critic(**{**SMALL, "warmup": 1}, judging=False)(site)
    assert not world.same(before, world.weights(site.engine)) and (tmp_path / "warmup" / "judged").is_dir()


def test_groups_of_right_statements_alone_have_no_pair(world, tmp_path):
    right = world.Talking(lambda request: "0.0")
    site = world.site(engine=right, out=tmp_path, reward=lambda group: Scores(np.zeros(len(group))))
    (row,) = judging_critic(**SMALL)(site)
    assert (row["right/before"], row["right/after"], row["pairs/judging"]) == (1, 1, 0)
