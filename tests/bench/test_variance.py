"""bench/variance.py: estimates from cells of runs, files of runs that continue, and the table in docs/claims.md."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"


def load(name):
    """A script of bench/ as a module."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


variance = load("variance_estimates")


def cells(rng, truth, *, pairs=200, tasks=40, shared=0.0):
    """Both sides of pairs whose difference has known components; `shared` noise is equal on both sides."""
    seed, both, sampling = np.sqrt(truth)

    def drawn(*shape):
        return rng.normal(size=shape)

    difference = seed * drawn(pairs, 1, 1) + both * drawn(pairs, tasks, 1) + sampling * drawn(pairs, tasks, 2)
    base = np.sqrt(shared) * drawn(pairs, tasks, 2)
    few = tasks // 2
    late = difference[:, None, :few, 0]
    sides = ((base + difference, np.repeat(late, 2, axis=1)), (base, np.zeros((pairs, 2, few))))
    start = drawn(pairs, few)
    return [variance.Cells(start, late, end, None, 30.0, 0.01) for end, late in sides]


def test_estimates_recover_known_components_and_settings():
    """20 tasks of the first half: seed 0.02, tasks 0.2 / 20 = 0.01 and sampling 0.4 / 20 = 0.02 of a variance of 0.05.
    With 40 tasks and 2 samples: 0.02 + 0.005 + 0.005 = 0.03, that is 0.6 of it."""
    found = variance.estimate_claim(*cells(np.random.default_rng(0), [0.02, 0.2, 0.4]), stored=[])
    assert found["tasks"] == 20 and found["deviation"] == pytest.approx(0.05**0.5, rel=0.1)
    assert found["shares"] == pytest.approx({"seed": 0.4, "tasks": 0.2, "sampling": 0.4}, abs=0.08)
    settings = found["settings"]
    assert settings["400 tasks, 2 samples"]["variance"] == pytest.approx(0.6, abs=0.06)
    assert settings["400 tasks"]["variance"] == pytest.approx(0.7, abs=0.06)
    assert settings["200 tasks, 2 samples"]["variance"] == pytest.approx(0.8, abs=0.06)
    assert settings["start as covariate"]["variance"] == pytest.approx(1.0, abs=0.02)
    assert settings["mean of the last three evaluations"]["variance"] == pytest.approx(1.0), "equal evaluations"


def test_the_mean_of_three_evaluations_keeps_the_part_of_the_seed():
    """Independent noise of 0.6 a task at each of three evaluations: 0.02 + 0.6 / 3 / 20 = 0.03 of 0.05."""
    ours, theirs = cells(np.random.default_rng(6), [0.02, 0.2, 0.4])
    seeds = ours.end_STK.mean(axis=(1, 2)) - theirs.end_STK.mean(axis=(1, 2))
    noise = np.sqrt(0.6) * np.random.default_rng(7).normal(size=theirs.late_SLF.shape)
    found = variance.estimate_claim(ours._replace(late_SLF=seeds[:, None, None] + noise), theirs, stored=[])
    assert found["settings"]["mean of the last three evaluations"]["variance"] == pytest.approx(0.6, abs=0.06)
    parts = [{"measured": 0.5, "last": 1.0, "free": 1}, {"measured": 0.8, "last": 1.2, "free": 3}]
    pooled = variance.pool([{**found, "last_three": one} for one in parts])["last_three"]
    assert pooled == {"ratio": pytest.approx((0.5 + 3 * 0.8) / (1.0 + 3 * 1.2)), "free": 4}


def test_seconds_count_the_evaluations():
    """30 s of training and 40 rollouts of 0.01 s; 160 rollouts take 31.6 s."""
    settings = variance.estimate_claim(*cells(np.random.default_rng(1), [0.1, 0.1, 0.1]), stored=[])["settings"]
    assert settings["400 tasks, 2 samples"]["seconds"] == pytest.approx(31.6 / 30.4)
    assert settings["400 tasks"]["seconds"] == pytest.approx(30.8 / 30.4)


def test_common_random_numbers_are_compared_with_independent_draws():
    """Noise of 0.4 shared by both sides: with other draws it counts twice, (0.4 + 0.4 + 0.1) instead of 0.1."""
    found = variance.estimate_claim(*cells(np.random.default_rng(2), [0.0, 0.0, 0.1], shared=0.4), stored=[])
    assert found["independent"]["other draws in evaluations"] == pytest.approx(9.0, rel=0.2)


def test_stored_pairs_count_by_degrees_of_freedom():
    ours, theirs = cells(np.random.default_rng(3), [0.02, 0.2, 0.4], pairs=3)
    own = variance.estimate_claim(ours, theirs, stored=[])["deviation"] ** 2
    stored = [0.0, 1.0, 0.0, 1.0]
    found = variance.estimate_claim(ours, theirs, stored=stored)
    assert found["deviation"] ** 2 == pytest.approx((2 * own + 3 * np.var(stored, ddof=1)) / 5)
    assert found["stored_pairs"] == 4 and sum(found["shares"].values()) == pytest.approx(1.0)


def test_a_task_without_the_figure_is_left_out():
    ours, theirs = cells(np.random.default_rng(4), [0.02, 0.2, 0.4])
    ours.end_STK[1, 3, 0] = np.nan
    theirs.late_SLF[0, 0, 5] = np.nan
    assert variance.estimate_claim(ours, theirs, stored=[])["tasks"] == 18


@pytest.mark.parametrize(
    ("setting", "halving"), [((0.5, 1.2), 1.2), ((0.4, 1.2), 1.2), ((0.75, 1.2), 1.8), ((1.0, 1.0), 2.0)]
)
def test_halving_adds_pairs_where_the_setting_is_not_enough(setting, halving):
    assert variance.Reduction(*setting).halving == pytest.approx(halving)


def test_the_exact_probability_has_no_sampling():
    ours, theirs = cells(np.random.default_rng(5), [0.02, 0.2, 0.4])
    exact = [one._replace(exact_ST=one.end_STK.mean(axis=2), exact=0.001) for one in (ours, theirs)]
    found = variance.estimate_claim(*exact, stored=[])
    assert found["settings"]["exact probability"]["variance"] == pytest.approx(0.6, abs=0.06)
    assert found["exact"]["ours_exact"] == pytest.approx(found["exact"]["ours_sampled"])


def test_pool_has_median_least_and_greatest():
    made = [cells(np.random.default_rng(seed), [0.02, 0.2, 0.4]) for seed in range(3)]
    rows = [variance.estimate_claim(*one, stored=[]) for one in made]
    pooled = variance.pool(rows)
    seeds = sorted(row["shares"]["seed"] for row in rows)
    assert pooled["shares"]["seed"] == [seeds[1], seeds[0], seeds[2]]
    assert set(pooled["settings"]) == set(rows[0]["settings"]) and variance.pool([]) == {}


def test_the_table_in_docs_is_that_of_the_results():
    pytest.importorskip("matplotlib")
    sys.path.insert(0, str(BENCH))
    try:
        report = load("report")
    finally:
        sys.path.remove(str(BENCH))
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert report.with_section(page, report.variance.section(report.read("variance"))) == page
    assert report.with_section(f"a\n{report.BEGIN}\nold\n{report.END}\nb\n", "new").split() == [
        "a", *report.BEGIN.split(), "new", *report.END.split(), "b",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.long
def test_a_quick_run_measures_and_continues(tmp_path):
    words = [sys.executable, str(BENCH / "variance.py"), "--quick", "--claims", "toolrl_scales"]
    words += ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out.json")]
    subprocess.run(words, check=True)
    files = sorted((tmp_path / "runs").glob("*.json"))
    assert len(files) == 4
    before = [file.stat().st_mtime_ns for file in files]
    files[0].unlink()
    subprocess.run(words, check=True)
    assert [file.stat().st_mtime_ns for file in files[1:]] == before[1:] and files[0].exists()
    (row,) = json.loads((tmp_path / "out.json").read_text())["claims"]
    assert row["pairs"] == 2 and row["world"] == "calls" and "exact probability" in row["settings"]
