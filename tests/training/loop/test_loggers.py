import subprocess
import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.training.loop import loggers
from handaxe.training.loop.train import train


def test_tensorboard_writes_what_it_is_told(tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log = loggers.tensorboard(tmp_path)
    log(0, {"reward": 0.25, "loss": float("nan")})
    log(3, {"reward": 0.5})
    log.close()
    found = events.EventAccumulator(str(tmp_path))
    found.Reload()
    assert [(one.step, one.value) for one in found.Scalars("reward")] == [(0, 0.25), (3, 0.5)]


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_a_missing_package_is_named_with_its_extra(name):
    code = f"import sys; sys.modules[{name!r}] = None\n"  # as if it were not installed
    code += "from handaxe.training.loop import loggers\nfrom handaxe.core.errors import InputError\n"
    code += f"try: loggers.{name}('project')\nexcept InputError as error: print(error)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert f'pip install "handaxe[{name}]"' in said


def test_wandb_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)
    log = loggers.wandb("project", config={"steps": 1})
    log(0, {"reward": 0.5})
    log.close()
    assert list((tmp_path / "wandb").glob("offline-run-*"))


def test_the_loop_calls_each_logger_after_each_step_and_closes_it_whatever_happens(world):
    class Mine:
        def __init__(self):
            self.steps, self.closed = [], 0

        def __call__(self, step, metrics):
            self.steps.append((step, "reward" in metrics))

        def close(self):
            self.closed += 1

    mine, other = Mine(), Mine()
    train(**world.arguments(steps=2, loggers=(mine, other)))
    assert mine.steps == other.steps == [(0, True), (1, True)] and mine.closed == other.closed == 1
    with pytest.raises(InputError):
        train(**world.arguments(steps=2, loggers=(mine,), learning_rate=-1.0))
    assert mine.closed == 2
