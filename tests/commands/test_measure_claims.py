import pytest

from handaxe.commands import measure_claims
from handaxe.commands.measure_claims import plan_claims
from handaxe.core.errors import InputError
from handaxe.evaluation.figures import RunFigures


def test_plot_shows_turn_rewards():
    by_turn = [RunFigures([{"reward": 0.0, "reward/all": 0.5}], {})] * 2
    outcomes = [RunFigures([{"reward": 0.25}], {})] * 2
    assert measure_claims._metric_of(measure_claims.EARNED, by_turn) == "training/reward/all"
    assert measure_claims._metric_of(measure_claims.EARNED, outcomes) == "training/reward"
    assert measure_claims._metric_of("training/reward", by_turn) == "training/reward"


def test_a_plan_has_pairs_and_half_as_many_controls(tmp_path):
    made = plan_claims("dr_grpo", ["--steps", "3"], seeds=range(5, 13), runs=tmp_path)
    assert set(made.sides) == {"dr_grpo", "grpo_no_kl"} and len(made.jobs) == 16 and len(made.controls) == 4
    assert len(made.missing()) == 20 and all(job.steps == 3 for job in made.missing())


def test_methods_with_equal_bases_share_runs(tmp_path):
    words = ["--world", "arithmetic", "--steps", "3", "--max-turns", "4", "--max-tokens", "24"]
    one, two = (plan_claims(name, words, seeds=(1, 2), runs=tmp_path) for name in ("codedance", "otc"))
    shared = {job.folder for job in one.jobs.values()} & {job.folder for job in two.jobs.values()}
    assert shared == {one.jobs["grpo_no_kl", seed].folder for seed in (1, 2)}


def test_methods_without_claims_and_early_ends_are_errors(tmp_path):
    with pytest.raises(InputError, match="has no claims"):
        plan_claims("grpo_no_kl", [], seeds=(1, 2), runs=tmp_path)
    with pytest.raises(InputError, match="equal length"):
        plan_claims("dr_grpo", ["--patience", "1", "--eval-every", "1"], seeds=(1, 2), runs=tmp_path)
