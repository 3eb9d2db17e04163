"""Runs of transformers vision-language models on a user's own world, whose tool is a Python function with images."""

import json
import runpy

import pytest
from helpers.vision_families import own_model

from handaxe.cli import main
from handaxe.core.images import image_spans
from handaxe.models.load import load
from handaxe.testing.vision_models import VISION_FAMILIES
from handaxe.worlds.parts.demonstrate import demonstrate

pytestmark = [pytest.mark.slow, pytest.mark.hf]
pytest.importorskip("transformers")
WORLD = '''
import numpy as np

from handaxe.core.images import Image
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.rewards.answer_score import answer_score
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.world import World


@tool
def mirror(image: Image) -> Image:
    """Show the first image mirrored."""
    return Image.of(np.ascontiguousarray(image.pixels[:, ::-1]))


def tasks(split, count, seed):
    found = []
    for number in range(count):
        draw = np.random.default_rng([seed, number, len(split)])
        image = Image.of(draw.integers(0, 256, (60, 80, 3), np.uint8))
        side = "left" if image.pixels[:, :40].mean() > image.pixels[:, 40:].mean() else "right"
        question = Message.of("user", "Which half of the mirror image is brighter? ", image)
        found.append(Task(f"{split}/{number}", (question,), side))
    return found


def halves():
    """Which half of a mirrored image is brighter?"""
    return World(
        name="halves",
        tasks=tasks,
        env=tool_chat,
        correct=answer_score(scorer=lambda task, text: float(text.strip() == task.answer)),
        tools=(mirror,),
        expert=calls_then_answer(lambda task, facts: [ToolCall("mirror", {"image": 1})]),
    )
'''
WHOLE = "qwen2_5_vl"
"""The family whose run is evaluated, resumed and exported; what differs between families is tested with the models."""
SHORT = ("--steps", "2", "--groups", "2", "--group-size", "2", "--held-out", "2", "--max-tokens", "60", "--quiet")


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "own_world.py").write_text(WORLD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("family", [name for name in VISION_FAMILIES if name != WHOLE])
def test_adapter_trains_two_steps_on_images_of_questions_and_of_a_tool(here, family, capsys):
    own_model(family).save(here / "model")
    words = ["--world", "own_world:halves", "--model", "model", "--lora", "8", *SHORT]
    taught = ["train", "sft", *words, "--train-tasks", "4", "--passes", "1", "--out", "sft", "--json", "sft.json"]
    assert main(taught) == 0, capsys.readouterr()
    assert_two_images(load("sft").format)


def assert_two_images(format):
    """Of the question and of the tool."""
    world = runpy.run_path("own_world.py")["halves"]()
    shown = demonstrate(world.env(world.tools), world.tasks("train", 1, 0)[0], world.expert, format=format)
    assert len(shown.images) == 2 and len(image_spans(shown.sequences[0].ids)) == 2
    return shown


def test_an_adapter_of_the_tower_too_is_trained_evaluated_resumed_and_exported(here, capsys):
    own_model(WHOLE).save(here / "model")
    words = ["--world", "own_world:halves", "--model", "model", "--lora", "8", "--lora-vision", *SHORT]
    assert main(["train", "grpo", *words, "--out", "grpo", "--json", "grpo.json"]) == 0, capsys.readouterr()
    assert json.loads((here / "grpo.json").read_text())["steps"] == 2
    assert main(["eval", "grpo", "--tasks", "2"]) == 0
    assert main(["resume", "grpo", "--steps", "3", "--quiet"]) == 0
    policy = load("grpo")
    assert policy.model.trains_vision
    assert main(["export", "grpo", "--out", "exported"]) == 0
    shown = assert_two_images(policy.format)
    exported = load("exported").format.start(shown.messages[:1], shown.tools).ids
    assert len(exported) == shown.turns[0].start
    assert main(["push", "grpo", "me/eyes", "--dry-run", "--keep", "pushed"]) == 0
    assert "pipeline_tag: image-text-to-text" in (here / "pushed" / "README.md").read_text()
    assert load("pushed").format.image_processor.describe() == policy.format.image_processor.describe()


def test_a_limit_on_pixels_is_that_of_the_run_and_of_its_checkpoint(here, capsys):
    own_model("qwen2_5_vl").save(here / "model")
    words = ["--world", "own_world:halves", "--model", "model", "--lora", "8", "--max-pixels", "1568", *SHORT]
    assert main(["train", "grpo", *words, "--out", "grpo"]) == 0, capsys.readouterr()
    assert main(["resume", "grpo", "--steps", "3", "--quiet"]) == 0
    policy = load("grpo")
    for images in (policy.format.image_processor, policy.model.image_processor):
        assert images.describe()["size"] == {"longest_edge": 1568, "shortest_edge": 784}
    untrained = ["eval", "model", "--world", "own_world:halves", "--tasks", "2", "--max-pixels", "1568"]
    assert main([*untrained, "--json", "eval.json"]) == 0
    assert len(json.loads((here / "eval.json").read_text())["tasks"]) == 2
    assert main([*untrained[:-1], "5"]) == 2 and "give 784 or more" in capsys.readouterr().err
    assert main([*untrained[:-1], "-5"]) == 2 and "--max-pixels is -5" in capsys.readouterr().err
    assert main([*untrained, "--server", "http://127.0.0.1:9/v1", "--server-model", "m"]) == 2
    assert "leave --max-pixels out" in capsys.readouterr().err
    assert main(["eval", "model", "--benchmark", "bfcl", "--max-pixels", "1568"]) == 2
    assert "leave --max-pixels out" in capsys.readouterr().err
    assert main(["train", "grpo", "--model", "start", "--max-pixels", "9"]) == 2
    assert "leave --max-pixels out" in capsys.readouterr().err
