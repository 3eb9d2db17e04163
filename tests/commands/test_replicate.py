import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from handaxe.commands import compare, replicate
from handaxe.core.errors import InputError
from handaxe.evaluation.figures import RunFigures
from handaxe.evaluation.replication import Replication
from handaxe.methods.catalog import HOME

OPTIONS = ["--steps", "2", "--groups", "2", "--group-size", "2", "--held-out", "4", "--model", "tiny"]


@pytest.mark.slow
def test_replicate_stopped_by_sigterm_continues_and_decides(tmp_path):
    """SIGTERM in the first runs leaves no process. The second call runs the missing runs. iStar's base has no judge, so
    iStar's second claim, about the judge, has no baseline."""
    words = ["istar", "--seeds", "2", *OPTIONS, "--runs", str(tmp_path / "runs")]
    words += ["--out", str(tmp_path / "results"), "--plots", str(tmp_path / "plots")]
    process = subprocess.Popen([sys.executable, "-m", "handaxe", "replicate", *words], stdout=subprocess.DEVNULL)
    while not list(tmp_path.glob("runs/*/record.sqlite")) and process.poll() is None:
        time.sleep(0.05)
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 130 and started and not psutil.wait_procs(started, timeout=10)[1]
    assert not (tmp_path / "results").exists()
    assert replicate.main(words) == 0
    found = Replication.from_json((tmp_path / "results" / "istar.json").read_text())
    assert found.seeds == (100, 101) and found.claims[0].baseline == "rloo"
    assert len(found.claims[0].figures.control.moved) == 2, "a claim about learning has a control with permuted rewards"
    assert len(list(tmp_path.glob("runs/*/record.sqlite"))) == 6
    assert (tmp_path / "plots" / "istar.png").read_bytes()[:4] == b"\x89PNG"
    assert [set(sides) for metric, sides in found.curves.items() if metric.endswith("step_gap")] == [{"istar"}]
    assert set(found.curves["training/reward"]) == {"istar", "rloo"}
    paired = found.claims[0].decision.paired
    assert paired.difference == pytest.approx(sum(a - b for a, b in zip(paired.ours, paired.theirs)) / 2)
    assert compare.main(["istar", "rloo", "--seeds", "2", "--first-seed", "100", *OPTIONS,
                         "--runs", str(tmp_path / "runs"), "--json", str(tmp_path / "both.json")]) == 0  # fmt: skip
    assert len(list(tmp_path.glob("runs/*/record.sqlite"))) == 6, "compare reuses the runs"
    assert '"pass@1"' in (tmp_path / "both.json").read_text()


def test_plot_shows_turn_rewards():
    by_turn = [RunFigures([{"reward": 0.0, "reward/all": 0.5}], {})] * 2
    outcomes = [RunFigures([{"reward": 0.25}], {})] * 2
    assert replicate._metric_of(replicate.EARNED, by_turn) == "training/reward/all"
    assert replicate._metric_of(replicate.EARNED, outcomes) == "training/reward"
    assert replicate._metric_of("training/reward", by_turn) == "training/reward"


def test_result_goes_into_the_folder_of_the_method_in_a_checkout(tmp_path, monkeypatch):
    default = replicate.ReplicateOptions()
    assert replicate.result_file("otc", default) == HOME / "papers" / "otc" / "result.json"
    assert replicate.result_file("grpo", default) == HOME / "baselines" / "grpo" / "result.json"
    assert replicate.result_file("toolrl_scales", default) == HOME / "papers" / "toolrl" / "result_toolrl_scales.json"
    assert replicate.result_file("otc", replace(default, out=tmp_path)) == tmp_path / "otc.json"
    assert replicate.result_file("otc", default, ["--steps", "2"]) == Path("results") / "otc.json"
    assert replicate.result_file("my_file:mine", default) == Path("results") / "my_file.mine.json"
    monkeypatch.setattr(replicate, "checkout", lambda: None)
    assert replicate.result_file("otc", default) == Path("results") / "otc.json"


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "--all, or some of"), (["otc", "--seeds", "1"], "2 or more"), (["grpo_no_kl"], "has no claims")],
)
def test_wrong_arguments_raise(words, message, tmp_path):
    with pytest.raises(InputError, match=message):
        replicate.main([*words, "--runs", str(tmp_path)])


@pytest.mark.parametrize("words", [["otc"], ["otc", "otc"], ["otc", "grpo", "--seeds", "1"]])
def test_compare_needs_two_sides_and_two_seeds(words, tmp_path):
    with pytest.raises(InputError, match="2 or more of each"):
        compare.main([*words, "--runs", str(tmp_path)])
