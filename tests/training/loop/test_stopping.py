"""Conditions and patience: the grammar, the decision, and runs that end, are killed, and are resumed."""

from pathlib import Path

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.testing.crash import kill_self_at, run_until_killed
from handaxe.training.loop.config import PeriodicEvaluation
from handaxe.training.loop.schedule import cosine, linear, warmup
from handaxe.training.loop.stopping import Condition, RunStop, parse_condition
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord

PASS = [0.1, 0.3, 0.2, 0.5, 0.5, 0.4, 0.9, 0.2]
"""pass@1 after each number of steps."""
PATIENT = RunStop(patience=2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pass@1>=0.9", Condition("pass@1", ">=", 0.9)),
        (" pass^4 < 1e-3 ", Condition("pass^4", "<", 0.001)),
        ("training/loss/approx_kl>.5", Condition("training/loss/approx_kl", ">", 0.5)),
        ("endings/truncated(tokens)<=-2", Condition("endings/truncated(tokens)", "<=", -2.0)),
    ],
)
def test_condition_is_parsed(text, expected):
    assert parse_condition(text) == expected
    assert parse_condition(str(expected)) == expected


@pytest.mark.parametrize(
    "text", ["", "pass@1", "pass@1=0.9", "pass@1>=", "pass@1>=x", "a>1 and b>1", "exit()>=1;2", "1 > 0 > -1", "a>=nan"]
)
def test_other_text_is_no_condition(text):
    with pytest.raises(InputError, match="is no condition: write a metric, one of >= <= > <, and a number"):
        parse_condition(text)


def test_bound_belongs_to_the_comparison():
    values = {"eval/a": 1.0, "b": float("nan")}
    held = [text for text in ("a>=1", "a>1", "a<=1", "a<1") if parse_condition(text).holds(values)]
    assert held == ["a>=1", "a<=1"]
    assert not any(parse_condition(f"training/b{sign}0").holds(values) for sign in ("<", ">", "<=", ">="))


def test_condition_on_evaluations_waits_for_an_evaluation():
    rule = RunStop(conditions=(parse_condition("pass@1>=0.5"), parse_condition("training/reward>0")))
    assert rule.reason({"reward": 1.0}, {}) == ""
    assert rule.reason({"reward": 0.0, "eval/pass@1": 0.6}, {}) == ""
    reason = rule.reason({"reward": 1.0, "eval/pass@1": 0.6}, {})
    assert reason == "pass@1>=0.5 and training/reward>0: pass@1 is 0.6, training/reward is 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pas@1>0", "'pas@1' is no metric of an evaluation; did you mean pass@1"),
        ("training/rewart>0", "'training/rewart' is no metric of a training step; did you mean reward"),
    ],
)
def test_unknown_metric_raises_with_the_closest(text, message):
    rule = RunStop(conditions=(parse_condition("training/reward>5"), parse_condition(text)))
    with pytest.raises(InputError, match=message):
        rule.reason({"step": 0.0, "reward": 1.0, "eval/pass@1": 0.5}, {})
    assert rule.reason({"reward": 1.0, "nothing_to_train": 1.0}, {}) == ""


def test_patience_counts_evaluations_since_the_first_maximum():
    evaluations = {done: {"pass@1": value} for done, value in enumerate(PASS)}

    def after(done):
        return PATIENT.reason({}, {step: one for step, one in evaluations.items() if step <= done})

    assert [done for done in range(6) if after(done)] == [5]
    assert after(5) == "2 evaluations without pass@1 above 0.5, reached after 3 steps"
    assert PATIENT.best(evaluations) == 6 and PATIENT.best({}) is None
    assert PATIENT.best({0: {"pass@1": float("nan")}, 2: {"pass@1": 0.0}}) == 2
    with pytest.raises(InputError, match="'pass@1' is no metric of an evaluation"):
        PATIENT.best({0: {"calls": 1.0}})
    with pytest.raises(InputError, match="patience is -1"):
        RunStop(patience=-1)


def evaluation(*, every=1):
    return PeriodicEvaluation(evaluate=lambda engine, done: {"pass@1": PASS[done]}, every=every)


def test_run_with_patience_ends_and_keeps_the_best_checkpoint(world, tmp_path):
    kept = {"out": tmp_path, "steps": 7, "evaluation": evaluation(), "checkpoints": 1}
    result = train(**world.arguments(**kept, stop=PATIENT))
    assert len(result.metrics) == 5 and result.stopped == "" and "reached after 3 steps" in result.reason
    names = sorted(one.name for one in (tmp_path / "checkpoints").iterdir())
    assert names == ["step-000003", "step-000005"]
    with RunRecord.open(tmp_path) as record:
        assert (record.events()[-1].kind, record.events()[-1].text) == ("finished", result.reason)
    again = train(**world.arguments(**kept, stop=PATIENT, resume=True))
    assert again.metrics == result.metrics and again.reason == result.reason
    longer = train(**world.arguments(**kept, resume=True))
    assert len(longer.metrics) == 7 and not longer.reason


def test_condition_on_training_ends_a_run_with_an_evaluation(world):
    rule = RunStop(conditions=(parse_condition("training/reward>-1"),))
    result = train(**world.arguments(steps=5, evaluation=evaluation(every=4), stop=rule))
    assert len(result.metrics) == 1 and result.metrics[0]["eval/pass@1"] == PASS[1]
    assert result.reason.startswith("training/reward>-1: training/reward is ")


def test_rule_that_waits_for_evaluations_needs_them(world):
    for stop in (PATIENT, RunStop(conditions=(parse_condition("pass@1>=1"),))):
        with pytest.raises(InputError, match="stop waits for evaluations, and there are none"):
            world.arguments(stop=stop)


RATES = {
    "cosine": cosine(0.01, steps=7, warmup_steps=2),
    "linear": linear(0.01, steps=7, warmup_steps=2),
    "warmup": warmup(0.01, steps=3),
}


@pytest.mark.slow
@pytest.mark.parametrize("kill", [pytest.param(2, marks=pytest.mark.slow), 8, pytest.param(13, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", RATES)
def test_killed_run_resumes_to_the_rates_and_the_end_of_the_uninterrupted_run(world, tmp_path, name, kill):
    """The process kills itself at a reward; three rewards are a step."""
    file = Path(__file__)
    run_until_killed(file, "resume", (str(tmp_path / "cut"), name, kill))
    torch.set_num_threads(1)
    rows = resume(str(tmp_path / "cut"), name, 0)
    whole = resume(str(tmp_path / "whole"), name, 0)
    assert [row["learning_rate"] for row in rows] == pytest.approx([RATES[name](step) for step in range(5)], abs=1e-15)
    untimed = [[{n: v for n, v in row.items() if "seconds" not in n} for row in found] for found in (rows, whole)]
    assert len(rows) == 5 and untimed[0] == untimed[1]
    weights = [torch.load(tmp_path / one / "final.pt") for one in ("cut", "whole")]
    assert world.same(*weights)


def resume(folder, name, kill):
    """Continue the run in `folder` with patience; dies at reward number `kill`, 0 for never."""
    from helpers import training_world as world

    torch.set_num_threads(1)
    die = kill_self_at(kill)

    def reward(group):
        die()
        return world.small_bytes(group)

    kept = {"out": Path(folder), "resume": True, "steps": 7, "evaluation": evaluation(), "stop": PATIENT}
    engine = world.make_engine()
    roles = {"engine": engine, "reward": reward, "learning_rate": RATES[name]}
    result = train(**world.arguments(**kept, **roles, checkpoint_every=2))
    torch.save(world.weights(engine), Path(folder) / "final.pt")
    return result.metrics
