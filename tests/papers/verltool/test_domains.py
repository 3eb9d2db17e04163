"""Five of VerlTool's six domains train with one method, through one interface of tools."""

import math

import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Author
from handaxe.methods.build import make_method, make_world
from handaxe.methods.run import run
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord
from handaxe.worlds.parts.demonstrate import demonstrate

SMALL = ["--steps", "2", "--groups", "2", "--group-size", "4", "--held-out", "2", "--seed", "1", "--eval-every", "0"]
DOMAINS = {
    "mathematics": ("gym", "reasoning_gym"),
    "questions": ("hops", "torch"),
    "SQL": ("tables", "duckdb"),
    "images": ("plates", "sklearn"),
    "repositories": ("repair", "toolz"),
}
"""Domain -> its world here, and a package of the world."""


def chosen(*words):
    return parse_train("verltool", [*words, *SMALL], prog="handaxe train", also={"run": RunOptions})[0]


@pytest.mark.parametrize("domain", [one for one in DOMAINS if one != "SQL"])  # there a query is the answer
def test_results_of_tools_are_text_or_images_in_every_domain(domain):
    world, package = DOMAINS[domain]
    pytest.importorskip(package)
    spec = chosen("--world", world)
    made = make_world(spec)
    env, rollout = made.env(made.tools), make_method(spec, made).rollout
    format = Compact(TinyImageProcessor(8))
    tasks = made.tasks("train", 4, 0)
    played = [demonstrate(env, task, made.expert, format=format, max_turns=8, rollout=rollout) for task in tasks]
    replies = [reply for one in played for reply in one.replies]
    assert replies and {reply.status for reply in replies} == {"ok"}
    assert any(reply.images for reply in replies) == (domain == "images")
    assert any((sequence.author == Author.TOOL).any() for one in played for sequence in one.sequences)


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_one_method_trains_in_every_domain(domain, tmp_path):
    world, package = DOMAINS[domain]
    pytest.importorskip(package)
    spec = chosen("--world", world, "--model", make_world(chosen("--world", world)).start_model)
    recipe = {"name": "verltool", "arguments": spec.arguments()}
    result = run(spec, RunConfig(out=tmp_path / "run", progress=False, recipe=recipe))
    assert len(result.metrics) == 2 and all(math.isfinite(row["reward"]) for row in result.metrics)
    with RunRecord.open(tmp_path / "run") as record:
        assert len(list(record.trajectories())) == 16 and sorted(record.evaluations()) == [0, 2]
