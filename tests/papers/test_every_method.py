"""A recipe is tested by being there: each one parses its options, is built, trains two steps and is evaluated."""

import ast
import inspect
import math

import numpy as np
import pytest
import torch

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core import records
from handaxe.core.records import Author, Message
from handaxe.evaluation.result import Evaluation
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.catalog import list_methods
from handaxe.methods.run import run
from handaxe.methods.run_spec import page_of, run_template, spec_of_base
from handaxe.models.compact import Compact
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.records import make_group, make_rated
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


FEWER = {
    "agent0": ("--earlier", "0"),
    "b_star": ("--rounds", "1", "--tasks", "1", "--tries", "2", "--temperatures", "1.0"),
    "calm_judged": ("--taught", "4", "--epochs", "1"),
    "bleuberi": ("--pool", "16", "--hardest", "8"),
    "grounded_prm": ("--trees", "4", "--simulations", "4"),
    "grpo_tcr_taught": ("--attempts", "8", "--passes", "1"),
    "longvt": ("--played-last", "2"),
    "molact": ("--first-steps", "2"),
    "ophiuchus": ("--reflection", "2"),
    "outcome_prm": ("--trees", "4", "--simulations", "4"),
    "rex_rag": ("--taught", "2"),
    "rusca_rl": ("--taught", "2"),
    "small_lm": ("--taught", "8"),
    "small_lm_tiny": ("--taught", "8"),
    "tool_star": ("--judged", "2"),
    "sft": ("--train-tasks", "8", "--passes", "1"),
}
"""Options of a recipe that make its stages short, too."""
ADDED = ("calm_judged", "igpo", "istar", "spa_rl")
"""Recipes whose rewards need what a run's rollout or judge adds to an attempt."""


def chosen(name, *words):
    return parse_train(name, [*SMALL, *words], prog="handaxe train", also={"run": RunOptions})[0]


def test_the_recipes_of_the_first_chapter_are_there():
    base = {
        "cispo",
        "dapo",
        "dr_grpo",
        "grpo_no_kl",
        "gspo",
        "grpo",
        "no_training",
        "ppo",
        "quickstart",
        "reinforce_pp",
        "rloo",
    }
    papers = {"agentmath", "artist", "asearcher", "asyncflow", "otc", "retool", "simpletir", "toolrl", "verltool"}
    assert base | papers <= set(NAMES)


@pytest.mark.parametrize("one", LISTED, ids=NAMES)
def test_what_was_read_is_what_an_import_gives(one):
    made = run_template(one.name)
    assert made.page == one.page
    assert (made.base.name if made.base else "") == one.page.base.partition(" ")[0]
    assert made.world.name == one.page.world.partition(" ")[0]
    assert inspect.getdoc(made.method.make).startswith(one.summary)


@pytest.mark.parametrize("one", LISTED, ids=NAMES)
def test_a_file_is_short_and_decides_nothing(one):
    source = one.file.read_text()
    assert source.count("\n") <= 60  # claims and imports take their lines
    deciding = (ast.If, ast.IfExp, ast.For, ast.While, ast.BinOp, ast.Compare, ast.comprehension)
    body = next(
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == one.name
    ).body
    assert not [node for part in body for node in ast.walk(part) if isinstance(node, deciding)]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_is_built_and_shows_its_help(name, capsys):
    with pytest.raises(SystemExit) as stop:
        chosen(name, "--help")
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "--held-out INT" in shown and "--engine.max-rows INT" in shown and "--world STR" in shown


@pytest.mark.parametrize("name", [one.name for one in LISTED if one.page.claims])
def test_what_a_claim_is_measured_against_can_be_run(name):
    for claim in run_template(name).page.claims:
        words = claim.baseline.split()
        if not words:
            assert spec_of_base(chosen(name)).settings == chosen(name).settings
        elif words[0] not in ("start", "zero"):
            chosen(words[0], *words[1:])


FORCES = ("cleaner", "rex_rag")
"""Recipes whose papers train on words that the policy did not draw in their place; batches want old_logp of them."""

GUIDED = ("grounded_prm", "outcome_prm")
"""Recipes whose papers let a judge choose among next steps in evaluations; what it chose is forced."""


@pytest.fixture
def batches(monkeypatch):
    """The rows of every batch that is made, of the loop and of stages, each with what trains of it [T]."""
    seen = []

    def seeing(rows, **options):
        batch = pad(rows, **options)
        for row, mask_T in zip(rows, batch.mask_BT.numpy(), strict=True):
            assert not mask_T[len(row.sequence) :].any(), "padding does not train"
            seen.append((row.sequence, mask_T[: len(row.sequence)]))
        return batch

    monkeypatch.setattr("handaxe.training.loop.batch.pad", seeing)
    return seen


@pytest.fixture
def held_out(monkeypatch):
    """The groups of held-out attempts, one for each task."""
    seen = []

    def seeing(reward, group):
        seen.append(group)
        return score_group(reward, group)

    monkeypatch.setattr("handaxe.evaluation.run.score_group", seeing)
    return seen


@pytest.mark.parametrize("name", [name for name in NAMES if name != "grpo_no_kl"])
def test_two_steps(name, tmp_path, batches, held_out):
    made = chosen(name, "--model", "tiny", *FEWER.get(name, ()))
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
    assert trains <= {Author.POLICY, *([Author.FORCED] if name in FORCES else [])}, "no expert's words, no reply's"
    assert trains or name != "grpo"  # of some recipes two steps so small leave nothing to train on
    assert len(held_out) >= 8 and {len(group) for group in held_out} == {made.settings.samples}
    for one in (trajectory for group in held_out for trajectory in group):
        assert one.branch_of is None, "an attempt that a user would see is not branched"
        assert name in GUIDED or not any(sequence.forced.any() for sequence in one.sequences), "nor helped"


@pytest.mark.parametrize(("name", "moves"), [("grpo_no_kl", True), ("no_training", False)])
def test_weights_move_unless_the_recipe_is_frozen(name, moves, tmp_path):
    parts = build(chosen(name))
    before = [p.detach().clone() for p in parts["engine"].model.module.parameters()]
    result = train(**parts, keep=RunConfig(progress=False))
    assert any(row.get("grad_norm", 0.0) > 0 for row in result.metrics) == moves
    assert any(not torch.equal(a, b) for a, b in zip(before, parts["engine"].model.module.parameters())) == moves


@pytest.mark.parametrize("base", ["grpo", "dapo", "gspo", "ppo"])
def test_the_base_of_a_recipe_can_be_another(base, tmp_path):
    result = run(chosen("otc", "--base", base, "--model", "tiny"), RunConfig(progress=False))
    assert len(result.metrics) == 2


@pytest.mark.parametrize("name", [name for name in NAMES if name != "grpo_no_kl" and name not in ADDED])
def test_the_selection_of_another_base_takes_what_the_recipe_pays(name):
    made = chosen(name, "--base", "dapo", "--base.rounds", "1", "--model", "tiny")
    world = make_world(made)
    method = make_method(made, world)
    env, (task,) = world.env(world.tools), world.tasks("train", 1, 0)

    def silent(task, facts):
        return Message("assistant", "")

    spoken = [
        demonstrate(env, task, speaker, format=Compact(), max_turns=8, rollout=world.plays(8))
        for speaker in (world.expert or silent, silent)
    ]
    group = make_group(task=task, trajectories=spoken)
    rated = make_rated(group=group, scores=method.reward(group))
    assert len(method.select([rated])) <= 1


def test_a_base_brings_what_the_recipe_does_not_change():
    made = chosen("otc", "--base", "dapo", "--base.rounds", "7")
    method = make_method(made, make_world(made))
    assert method.pace.rounds == 7 and method.terms == ()
    assert "fewer_calls" in type(method.reward).__module__
    own = chosen("retool")
    assert own.options["base"]["lam"] == 1.0 and page_of(own.template.base.make).short == "PPO"
    assert make_method(own, make_world(own)).annotate == ("value",)


def test_the_median_of_a_recipe_is_short():
    lines = sorted(one.file.read_text().count("\n") for one in LISTED)
    assert lines[len(lines) // 2] <= 40
