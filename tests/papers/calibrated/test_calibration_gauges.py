import math

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.evaluate import summarize
from handaxe.papers.calibrated.calibration_gauges import calibration_gauges
from handaxe.papers.calibrated.confidence import stated_confidence, strip_confidence
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory

FIGURES = calibration_gauges(stated_confidence)


def found(*said, samples=1):
    reward, groups = exact_match(extract=strip_confidence), []
    for number, text in enumerate(said):
        task = make_task(id=f"t{number}", answer="4")
        group = make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task)] * samples)
        groups.append((group, reward(group)))
    made = summarize(groups, gauges=FIGURES.gauges, statistics=FIGURES.statistics, resamples=20)
    return {name: one.value for name, one in made.metrics.items()}


def test_calibration_gauges_matches_its_example():
    metrics = found("4 c9", "5 c9", "5")
    wanted = {"stated": 2 / 3, "confidence": 0.9, "brier": 0.41, "mcip": 0.9, "ece": 0.4, "auroc": 0.5}
    assert {name: metrics[name] for name in wanted} == pytest.approx(wanted)


def test_an_answer_without_a_confidence_counts_in_stated_alone():
    names = ("confidence", "brier", "mcip", "ece", "auroc")
    with_it, without = found("4 c7", "5 c2", "4 c1", "5"), found("4 c7", "5 c2", "4 c1")
    assert {name: with_it[name] for name in names} == pytest.approx({name: without[name] for name in names})
    assert without["auroc"] == 0.5 and without["mcip"] == pytest.approx(0.2)


def test_calibration_metrics_without_confidences_or_errors():
    silent = found("4", "5")
    assert silent["stated"] == 0 and all(math.isnan(silent[name]) for name in ("ece", "auroc"))
    assert math.isnan(found("4 c7")["auroc"])


def test_several_rollouts_of_a_task_are_rejected():
    with pytest.raises(InputError, match="--samples 1"):
        found("4 c7", samples=2)
