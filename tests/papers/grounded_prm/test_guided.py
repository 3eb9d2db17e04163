"""A judge taught by a search, in a whole run that is small enough for a test."""

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.build import make_method, make_world
from handaxe.methods.method import replace
from handaxe.methods.run import run
from handaxe.papers.grounded_prm.guided import guided
from handaxe.papers.grounded_prm.outcome_backup import outcome_backup
from handaxe.papers.grounded_prm.step_agreement import StepAgreement
from handaxe.rollouts.search.mcts import mcts
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

WORDS = ["--model", "tiny", "--steps", "1", "--groups", "1", "--group-size", "2", "--held-out", "2"]
WORLD = ["--world", "worked_steps", "--world.ask", "parity", "--max-turns", "3", "--max-tokens", "16"]


class Odd:
    """A truth about steps that needs none."""

    def score_steps(self, group):
        return tuple(np.array([2.0 * (k % 2) - 1 for k in range(len(one.turns))]) for one in group)


@pytest.fixture(scope="module")
def chosen():
    return parse_train("no_training", [*WORDS, *WORLD], prog="handaxe train", also={})[0]


def method(chosen):
    base = make_method(chosen, make_world(chosen))
    search = mcts(outcome=base.reward, back_up=outcome_backup(), simulations=3, children=2, max_turns=3)
    return guided(base, search=search, agree=False, truth=Odd(), trees=2, epochs=1, samples=2)


def test_guided_has_one_stage_and_two_learners_and_replaces_another_judge(chosen):
    first = method(chosen)
    second, figures = first.learners
    assert isinstance(second, TaughtAnswerer) and isinstance(figures, StepAgreement) and len(first.stages) == 1
    again = guided(first, search=first.rollout, agree=True, truth=Odd())
    assert len(again.stages) == 1 and len(again.learners) == 2 and again.rollout is first.rollout


@pytest.mark.slow
def test_a_resumed_run_has_equal_metrics(chosen, tmp_path, monkeypatch):
    found = []
    for resume in (False, True):
        made = method(chosen)  # as another process would
        monkeypatch.setattr("handaxe.methods.run.make_method", lambda *given, made=made: made)
        result = run(chosen, RunConfig(out=tmp_path / "run", progress=False, resume=resume))
        found.append({k: v for k, v in result.metrics[0].items() if k.startswith("learner/")})
    assert found[0] == found[1] and found[0]["learner/step_agreement/wrong"] > 0
    with RunRecord.open(tmp_path / "run" / "stages" / "00-teach_judge" / "played") as record:
        searched = list(record.trajectories())
    assert {one.task.id for one in searched} and any(node["visits"] for one in searched for node in one.notes["search"])
    assert sum(one.usage.tokens for one in searched) <= sum(one.num_tokens for one in searched)


def test_evaluations_return_one_rollout_with_candidates_counted(chosen):
    made = method(chosen)
    assert not hasattr(made.evaluate_rollout, "branches") and made == replace(made)
