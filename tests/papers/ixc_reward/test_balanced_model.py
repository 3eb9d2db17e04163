from math import inf

import pytest

from handaxe.judges.drawing_model import DrawingModel
from handaxe.papers.ixc_reward.balanced_model import balanced_model, modality_pairs
from handaxe.worlds.canvas.canvas import canvas

pytest.importorskip("PIL")
WORLD = canvas(changes=0.0)
CONTRACT = [{"world": WORLD, "labels": 16}]
LAB = "scores drawings of the world canvas alone"


def test_blank_drawings_are_no_pair_and_both_kinds_of_messages_are():
    tasks = WORLD.tasks("train", 24, 0)
    every, kept = modality_pairs(tasks, most=inf), modality_pairs(tasks)
    assert [bool(one.chosen.images) for one in every] == [True] * 12 + [False] * 12
    assert any(one.rejected.content.endswith("none") for one in every)
    assert not any(one.rejected.content.endswith("none") for one in kept)
    assert 8 < len(kept) < 24
    assert [one.strength for one in kept] == pytest.approx([1 / 3] * len(kept), abs=1e-9)
    assert isinstance(balanced_model(world=WORLD), DrawingModel)
