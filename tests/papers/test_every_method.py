"""Every method parses its options, is built, trains two steps and is evaluated.

The test of a method may set constants for these tests, see `helpers.methods`.
"""

import ast
import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.methods import embedded_model, made, own, slow_for_papers

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core import records
from handaxe.core.records import Author, Message
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.catalog import list_methods
from handaxe.methods.run import run
from handaxe.methods.run_spec import base_spec, method_page, run_template
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.make_records import make_group, make_rated
from handaxe.training.loop.batch import pad
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("reasoning_gym")
LISTED = list_methods()
NAMES = [one.name for one in LISTED]
SMALL = ["--steps", "2", "--groups", "3", "--group-size", "4", "--held-out", "4", "--seed", "1", "--wait", "0"]
SMALL += ["--eval-every", "0"]


def chosen(name, *words):
    return parse_train(name, [*SMALL, *words], prog="handaxe train", also={"run": RunOptions})[0]


@pytest.mark.parametrize("one", LISTED, ids=NAMES)
def test_the_catalog_agrees_with_an_import(one):
    made = run_template(one.name)
    assert made.page == one.page
    assert (made.base.name if made.base else "") == one.page.base.partition(" ")[0]
    assert made.world.name == one.page.world.partition(" ")[0]
    assert inspect.getdoc(made.method.make).startswith(one.summary)


@pytest.mark.parametrize("one", LISTED, ids=NAMES)
def test_a_method_is_short_and_has_no_branches(one):
    source = one.file.read_text()
    assert source.count("\n") <= 60  # claims and imports take their lines
    deciding = (ast.If, ast.IfExp, ast.For, ast.While, ast.BinOp, ast.Compare, ast.comprehension)
    body = next(
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == one.name
    ).body
    assert not [node for part in body for node in ast.walk(part) if isinstance(node, deciding)]


@pytest.mark.parametrize("name", slow_for_papers(NAMES))
def test_the_page_of_a_method_with_a_judge_says_who_answers(name):
    page = run_template(name).page
    answered = page.judge
    assert made(name).judge.asked == bool(answered)
    assert answered in ("", "oracle", "noise") or page.settings.get("judge", "rule") != "rule"


@pytest.mark.parametrize("name", slow_for_papers(NAMES))
def test_the_command_line_is_built_and_shows_its_help(name, capsys):
    with pytest.raises(SystemExit) as stop:
        chosen(name, "--help")
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "--held-out INT" in shown and "--engine.max-rows INT" in shown and "--world STR" in shown


@pytest.mark.parametrize("name", [one.name for one in LISTED if one.page.claims])
def test_the_baseline_of_every_claim_parses(name):
    for words in {tuple(claim.baseline.split()) for claim in run_template(name).page.claims}:
        if not words:
            spec = chosen(name)
            assert base_spec(spec).settings == spec.settings
        elif words[0] not in ("start", "zero"):
            chosen(words[0], *words[1:])


@pytest.fixture(autouse=True)
def few_tasks(monkeypatch):
    """A run draws 4,096 training tasks, for which some worlds take half a minute; two steps need a dozen."""
    monkeypatch.setattr("handaxe.methods.build.TRAIN", 256)


@pytest.fixture
def batches(monkeypatch):
    """Rows of every batch of loop and stages, each with its training mask [T]."""
    seen = []

    def seeing(rows, **options):
        batch = pad(rows, **options)
        for row, mask_T in zip(rows, batch.mask_BT.numpy(), strict=True):
            assert not mask_T[len(row.sequence) :].any(), "padding trains"
            seen.append((row.sequence, mask_T[: len(row.sequence)]))
        return batch

    monkeypatch.setattr("handaxe.training.loop.batch.pad", seeing)
    return seen


@pytest.fixture
def held_out(monkeypatch):
    """Groups of held-out rollouts, one a task."""
    seen = []

    def seeing(reward, group):
        seen.append(group)
        return score_group(reward, group)

    monkeypatch.setattr("handaxe.evaluation.evaluate.score_group", seeing)
    return seen


@pytest.mark.parametrize("name", slow_for_papers(name for name in NAMES if name != "grpo_no_kl"))
def test_two_steps_are_recorded_and_evaluated(name, tmp_path, batches, held_out):
    made = chosen(name, "--model", embedded_model(name), *own(name, "SHORT", ()))
    result = run(
        made, RunConfig(out=tmp_path / "run", progress=False, recipe={"name": name, "arguments": made.arguments()})
    )
    assert len(result.metrics) == 2
    played = [row for row in result.metrics if row["trajectories"]]  # with partial rollouts a step may finish none
    assert played and all(math.isfinite(row["reward"]) for row in played)
    with RunRecord.open(tmp_path / "run") as record:
        evaluated = record.evaluations()
        assert sorted(evaluated) == [0, 2]
        assert len(Evaluation.from_json(evaluated[2]["evaluation"]).tasks) == 4
        for trajectory in record.trajectories():
            records.check(trajectory)
    trains = {Author(number) for sequence, mask_T in batches for number in np.unique(sequence.author[mask_T])}
    allowed = {"TRAINS_FORCED": Author.FORCED, "JUDGE_LEARNS_RESULTS": Author.TOOL}
    assert trains <= {Author.POLICY, *(author for constant, author in allowed.items() if own(name, constant))}, (
        "no tokens of experts or tool results train"
    )
    assert trains or name != "grpo"  # two such small steps of some methods leave nothing to train on
    assert len(held_out) >= 8 and {len(group) for group in held_out} == {made.settings.samples}
    for one in (trajectory for group in held_out for trajectory in group):
        assert one.branch_of is None, "evaluated rollouts are not branched"
        assert own(name, "EVALUATES_FORCED") or not any(s.forced.any() for s in one.sequences), "nor forced"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moves"), [("grpo_no_kl", True), ("no_training", False)])
def test_weights_change_unless_the_method_trains_nothing(name, moves, tmp_path):
    parts = build(chosen(name))
    before = [p.detach().clone() for p in parts["engine"].model.module.parameters()]
    result = train(**parts | {"run": replace(parts["run"], progress=False)})
    assert any(row.get("grad_norm", 0.0) > 0 for row in result.metrics) == moves
    assert any(not torch.equal(a, b) for a, b in zip(before, parts["engine"].model.module.parameters())) == moves


@pytest.mark.slow
@pytest.mark.parametrize("base", ["grpo", "dapo", "gspo", "ppo"])
def test_a_method_runs_on_another_base(base, tmp_path):
    result = run(chosen("otc", "--base", base, "--model", "tiny"), RunConfig(progress=False))
    assert len(result.metrics) == 2


@pytest.mark.parametrize(
    "name", slow_for_papers(name for name in NAMES if name != "grpo_no_kl" and not own(name, "LAB"))
)
def test_the_selection_of_another_base_accepts_the_scores_of_the_method(name):
    made = chosen(name, "--base", "dapo", "--base.rounds", "1", "--model", "tiny")
    world = make_world(made)
    method = make_method(made, world)
    env, (task,) = world.env(world.tools), world.tasks("train", 1, 0)

    def silent(task, facts):
        return Message("assistant", "")

    spoken = [
        demonstrate(
            env, task, speaker, format=Compact(TinyImageProcessor(8)), max_turns=8, rollout=world.make_rollout(8)
        )
        for speaker in (world.expert or silent, silent)
    ]
    group = make_group(task=task, trajectories=spoken)
    rated = make_rated(group=group, scores=method.reward(group))
    assert len(method.select([rated])) <= 1


def test_unchanged_parts_come_from_the_base():
    made = chosen("otc", "--base", "dapo", "--base.rounds", "7")
    method = make_method(made, make_world(made))
    assert method.async_config.rounds == 7 and method.terms == ()
    assert "fewer_calls" in type(method.reward).__module__
    own = chosen("retool")
    assert own.options["base"]["lam"] == 1.0 and method_page(own.template.base.make).short == "PPO"
    assert make_method(own, make_world(own)).annotate == ("value",)


def test_the_median_method_is_short():
    lines = sorted(one.file.read_text().count("\n") for one in LISTED)
    assert lines[len(lines) // 2] <= 40
