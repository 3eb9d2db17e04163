"""Constants of the method deepeyes, read by the tests of every method (tests/papers), and a short run with images."""

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.images import is_image_id
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

ABOUT_REWARDS = True
DEAD_PARTS = {"yes/always", "yes/direct"}
SHORT = ["--probe-tasks", "8"]

WORDS = ["--model", "tiny_vision", "--steps", "2", "--groups", "4", "--group-size", "4", "--held-out", "8"]


@pytest.mark.slow
def test_a_short_run_trains_on_zooms_and_stores_every_image(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("PIL")
    chosen = parse_train("deepeyes", [*WORDS, *SHORT], prog="handaxe train", also={"run": RunOptions})[0]
    arguments = {"name": "deepeyes", "arguments": chosen.arguments()}
    result = run(chosen, RunConfig(out=tmp_path / "run", progress=False, recipe=arguments))
    first, _ = (row.get("channel/bonus") for row in result.metrics)  # tasks with the highest benefit of tools first
    assert first > 0.1, "the bonus is granted"
    with RunRecord.open(tmp_path / "run") as record:
        played = list(record.trajectories())
    assert len(played) == 32
    for one in played:
        overview, *zooms = one.images
        assert overview == one.task.messages[0].images[0] and overview.pixels.shape == (32, 32, 3)
        shown = [image for reply in one.replies for image in reply.images]
        assert {image.digest for image in zooms} == {image.digest for image in shown} - {overview.digest}
        ids = np.concatenate([sequence.ids for sequence in one.sequences])
        masks = np.concatenate([sequence.mask for sequence in one.sequences])
        assert is_image_id(ids).sum() == one.num_image_tokens > 0 and not masks[is_image_id(ids)].any()
    assert any(one.calls for one in played)
