"""Constants of the method rusca_rl, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

from handaxe.testing.make_records import make_group, make_trajectory

SHORT = ["--sft-steps", "2"]


def test_hinted_rollouts_are_counted_and_earn_points_alone():
    pytest.importorskip("bm25s")
    method = made("rusca_rl")
    (task,) = method.world.tasks("train", 1, 0)[:1]
    pair = [make_trajectory(texts=["4"], task=task), make_trajectory(texts=["4"], task=task)]
    for one, names in zip(pair, ([], ["first"]), strict=True):
        vars(one).update(notes={"hint": names})
    scores = method.reward(make_group(trajectories=pair, task=task))
    assert list(scores.channels["hinted"]) == [0, 1] and list(scores.channels["unhinted"]) == [1, 0]
    assert list(scores.outcome) == list(scores.channels["points"])
