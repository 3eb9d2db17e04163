"""A proposer and a solver: whole runs of two rounds, small enough for a test."""

import pytest

from handaxe.commands.configure import parse_train
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.build import make_loss, make_method, make_world
from handaxe.methods.method import replace
from handaxe.methods.run import run
from handaxe.models.load import load
from handaxe.papers.agent0.arithmetic_questions import OPENING, is_training_question, read_question
from handaxe.papers.agent0.co_train import co_train
from handaxe.papers.agent0.proposing import proposing
from handaxe.rewards.outcome import outcome
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.checkpoint import Checkpoints
from handaxe.training.record.run_record import RunRecord

NAMES = ["00-reinforce_second", "01-frontier", "02-reinforce"]


def method(**changes):
    words = ["--world", "arithmetic_questions", "--groups", "1", "--group-size", "2"]
    chosen, _ = parse_train("grpo_no_kl", words, prog="handaxe train", also={})
    solver = make_method(chosen, make_world(chosen))
    asks = proposing(read=read_question, solve=solver.rollout, samples=2)
    sizes = {"earlier_rounds": 2, "steps": 1, "questions": 2, "pool_steps": 1, "solver_steps": 1}
    return co_train(
        replace(solver, tasks=lambda tasks, seed: task_pool(tasks, seed=seed)),
        proposer=replace(solver, rollout=asks, reward=outcome(lambda one: float(one.num_tokens % 2))),
        opening=OPENING,
        accept=is_training_question,
        **sizes | changes,
    )


def test_co_train_has_a_curriculum_and_a_data_stage_after_the_earlier_rounds():
    made = method()
    assert [stage.__qualname__.split(".")[0] for stage in made.stages] == ["repeat", "reinforce_second", "frontier"]
    (second,) = made.learners
    assert isinstance(second, AuxLearner)
    assert len(method(earlier_rounds=0).stages) == 3
    assert make_loss(made) is not None


@pytest.fixture(scope="module")
def chosen():
    words = ["--model", "tiny", "--steps", "1", "--groups", "1", "--group-size", "2", "--held-out", "2"]
    return parse_train("grpo_no_kl", [*words, "--world", "arithmetic_questions"], prog="handaxe train", also={})[0]


@pytest.mark.slow
def test_both_policies_are_in_every_checkpoint(chosen, tmp_path, monkeypatch):
    made = method()
    monkeypatch.setattr("handaxe.methods.run.make_method", lambda *given: made)
    for resume in (False, True):
        result = run(chosen, RunConfig(out=tmp_path / "run", progress=False, resume=resume))
        assert len(result.metrics) == 1
    stages = tmp_path / "run" / "stages"
    rounds = [stages / "00-repeat" / f"{k:02d}-{name[3:]}" for k, name in enumerate(NAMES * 2)]
    for folder in (*rounds, stages / "01-reinforce_second", stages / "02-frontier", tmp_path / "run"):
        (found,) = Checkpoints(folder / "checkpoints").found()[-1:]
        assert '"learner/aux_learner"' in (found.path / "state.json").read_text()
    with RunRecord.open(rounds[0]) as record:
        assert [one.task.id for one in record.trajectories()] == ["propose"] * 2
    assert load("tiny").model.max_length == made.learners[0].engine.max_length
