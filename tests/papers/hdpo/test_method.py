"""Constants of the method hdpo, read by the tests of every method (tests/papers), and its stages."""

import pytest

pytest.importorskip("rapidocr_onnxruntime")
pytest.importorskip("matplotlib")

from handaxe.commands.configure import parse_train  # noqa: E402
from handaxe.commands.train import RunOptions  # noqa: E402
from handaxe.methods.build import make_method, make_world  # noqa: E402


def test_a_pool_of_tasks_is_probed_and_filtered():
    chosen = parse_train("hdpo", ["--probe-tasks", "10"], prog="handaxe train", also={"run": RunOptions})[0]
    method = make_method(chosen, make_world(chosen))
    assert len(method.stages) == 2
    assert len(method.tasks(method.world.tasks("train", 40, 0), 0).tasks) == 10
