import math

import pytest

from handaxe.doctor.cost import Cost, check_memory, check_time, count_evaluations
from handaxe.doctor.finding import Thresholds

PHASES = [{"sampling": 1.5, "update": 0.5}, {"sampling": 2.5, "update": 0.5}]


def test_evaluations_of_counts_first_and_last():
    assert [count_evaluations(20, every) for every in (0, 1, 8, 10, 10**6)] == [0, 21, 4, 3, 2]
    assert count_evaluations(0, 5) == 1


def test_forecast_is_the_sum_of_steps_evaluations_and_checkpoints():
    cost = Cost([2.0, 3.0], PHASES, groups=3, run_groups=12, evaluation=7.0, sampled=(8, 200), save=0.5)
    found = check_time(cost, steps=20, evaluations=2, checkpoint_every=10, evaluates=True)
    assert found.figures["step"] == 2.5 * 4 and found.figures["forecast"] == 20 * 10 + 2 * 7 + 2 * 0.5
    assert found.figures["phase/sampling"] == 2.0 * 4 and found.level == "ok"
    assert "mean of 2 steps with 3 of 12 groups, times 4" in found.found and "8 of 200 rollouts" in found.found


def test_forecast_names_an_evaluation_that_cannot_be_sampled_in_part():
    cost = Cost([2.0], PHASES[:1], groups=1, run_groups=1, evaluation=math.nan)
    found = check_time(cost, steps=2, evaluations=2, checkpoint_every=10, evaluates=True)
    assert found.level == "warning" and "without evaluations" in found.found and found.figures["forecast"] == 4
    assert check_time(cost, steps=2, evaluations=0, checkpoint_every=10, evaluates=False).level == "ok"


def test_check_memory_grades_memory_and_disk(tmp_path):
    cost = Cost([1.0], PHASES[:1], 1, 1, checkpoint=1000)
    found = check_memory(cost, device=None, checkpoints=2, out=tmp_path / "not" / "there")
    assert found.level == "ok" and 0 < found.figures["used"] < found.figures["total"]
    assert found.figures["disk"] == 3000
    tight = Thresholds(memory=(1e-6, 2e-6))
    assert check_memory(cost, device=None, checkpoints=2, limits=tight).level == "error"
    assert check_memory(cost, device=None, checkpoints=2, limits=Thresholds(memory=(1e-6, 1.0))).level == "warning"
    part = check_memory(cost._replace(run_groups=4), device=None, checkpoints=2).found
    assert "with 1 of 4 groups" in part and "groups" not in found.found
    remote = check_memory(cost, device=None, remote=True, checkpoints=2)
    assert remote.level == "warning" and "servers is not measured" in remote.found and remote.remedy
    full = check_memory(Cost([1.0], [], 1, 1, checkpoint=2**60), device=None, checkpoints=2)
    assert full.level == "error" and "--out" in full.remedy


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.02, "20 ms"), (20.0, "20.0 s"), (600.0, "10.0 min"), (9000.0, "2.5 h")]
)
def test_times_are_shown_in_a_fitting_unit(seconds, shown):
    cost = Cost([seconds], [{}], 1, 1)
    assert shown in check_time(cost, steps=1, evaluations=0, checkpoint_every=1, evaluates=False).found
