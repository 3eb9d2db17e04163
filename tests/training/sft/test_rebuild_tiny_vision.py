import json

import pytest
import torch

from handaxe.core.records import Sampling
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.evaluate import evaluate
from handaxe.models.load import load
from handaxe.training.sft.rebuild_tiny_vision import rebuild_tiny_vision
from handaxe.worlds.plates.world import plates

pytest.importorskip("sklearn")
pytest.importorskip("PIL")


def weights(model):
    return model.module.state_dict()


def test_a_checkpoint_is_written_that_loads_with_vision(tmp_path, capsys):
    rebuild_tiny_vision(out=tmp_path, reading_steps=1, place_steps=1, steps=1, batch_size=2)
    made = load(tmp_path)
    assert made.format.image_processor.patch == 8 and f"wrote {tmp_path}" in capsys.readouterr().out
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["patch"] == 8 and config["dtype"] == "bfloat16"
    text = weights(load("tiny").model)
    assert not any(torch.equal(one, weights(made.model)[name]) for name, one in text.items() if one.ndim > 1)


def test_without_steps_the_text_weights_are_those_of_tiny(tmp_path):
    rebuild_tiny_vision(out=tmp_path, reading_steps=0, place_steps=0, steps=0)
    made = weights(load(tmp_path).model)
    text = weights(load("tiny").model)
    assert all(torch.equal(one.bfloat16(), made[name].bfloat16()) for name, one in text.items()) and set(text) < set(
        made
    )


def test_the_shipped_checkpoint_reads_handwriting_of_the_test_split():
    world, policy = plates(), load("tiny_vision")
    result = evaluate(
        engine=LocalEngine(policy.model, max_rows=64),
        env=world.env(()),
        format=policy.format,
        rollout=world.make_rollout(3),
        tasks=world.tasks("test", 60, 5),
        reward=world.correct,
        sampling=Sampling(temperature=0.0, max_tokens=24),
        breakdown=world.breakdown,
        gauges=world.gauges,
    )
    needed, needless = (result.breakdown["needs_tool"][name] for name in ("yes", "no"))
    assert needed["looked"].value > 0.9 and needless["looked"].value < 0.1
    assert needed["pass@1"].value > 0.7 and needless["pass@1"].value > 0.8
