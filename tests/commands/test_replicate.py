import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from handaxe.commands import compare, jobs, output, replicate
from handaxe.core.errors import InputError
from handaxe.evaluation.replication import Replication
from handaxe.methods.catalog import HOME
from handaxe.training.record.folder import FolderLock

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
    body = json.loads((tmp_path / "both.json").read_text())["metrics"]["pass@1"]["rloo"]
    assert 0 <= body["improvement"] <= 1 and len(body["interquartile_interval"]) == 2


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
    [
        ([], "--all, or some of"),
        (["otc", "--seeds", "1"], "2 to 7 for a trial"),
        (["otc", "--seeds", "12"], "decided at 8, 16, 32 pairs"),
        (["otc", "--hours", "0"], "--hours is 0; give a time above 0"),
        (["otc", "--jobs", "-1"], "--jobs is -1"),
        (["grpo_no_kl"], "has no claims"),
        (["otc", "--patience", "2", "--eval-every", "1"], "equal length"),
    ],
)
def test_wrong_arguments_raise(words, message, tmp_path):
    with pytest.raises(InputError, match=message):
        replicate.main([*words, "--runs", str(tmp_path)])


@pytest.mark.parametrize("words", [["otc"], ["otc", "otc"], ["otc", "grpo", "--seeds", "1"]])
def test_compare_needs_two_sides_and_two_seeds(words, tmp_path):
    with pytest.raises(InputError, match="2 or more of each"):
        compare.main([*words, "--runs", str(tmp_path)])


def queue(names, tmp_path, **options):
    given = replicate.ReplicateOptions(runs=tmp_path, **options)
    return replicate._Queue(names, given, [], output.console())


def test_the_cheapest_undecided_claims_come_first(tmp_path):
    """Cost is the time of the missing runs a claim that is undecided, from the stored results."""
    made = queue(["asearcher", "otc", "dr_grpo"], tmp_path)
    left = sorted(made._left)
    assert [one.cost for one in left] == sorted(one.work / max(1, open_claims(one.name)) for one in left)
    assert all(one.pairs == 8 and one.work > 0 for one in left)


def open_claims(name):
    return replicate._open_claims(replicate._entries([name])[name])


def test_undecided_keeps_methods_with_open_claims():
    names = replicate._names(replicate.ReplicateOptions(all=True, undecided=True))
    everything = replicate._names(replicate.ReplicateOptions(all=True))
    entries = replicate._entries(everything)
    wanted = [name for name in everything if replicate._open_claims(entries[name])]
    assert names == wanted and 0 < len(names) < len(everything)


def test_seeds_go_on_from_those_of_the_result(tmp_path):
    name = "otc"
    first = replicate._entries([name])[name].result.seeds[0]
    assert first != replicate.FIRST_SEED
    assert queue([name], tmp_path)._plan(name, 16).seeds == tuple(range(first, first + 16))
    assert queue([name], tmp_path, first_seed=3)._plan(name, 2).seeds == (3, 4)


def test_the_command_of_a_result_names_one_method(tmp_path):
    """A result of a queue of several methods is reproduced by the command that stands in it."""
    made = queue(["otc", "dr_grpo"], tmp_path)
    first = made._first("otc")
    assert made._command(made._item("otc", 8)) == f"handaxe replicate otc --first-seed {first}"
    assert made._command(made._item("otc", 16)) == f"handaxe replicate otc --seeds 16 --first-seed {first}"


def test_a_queue_in_use_is_an_error(tmp_path):
    with FolderLock(tmp_path), pytest.raises(InputError, match=f"process {os.getpid()} is writing"):
        replicate.main(["otc", "--runs", str(tmp_path)])


@pytest.mark.slow
def test_a_queue_stops_after_its_hours_and_continues_after_a_kill(tmp_path, capsys):
    """cispo and gspo have a base with equal settings, whose runs are made once: 2 x 3 sides, and 2 controls each."""
    words = ["cispo", "gspo", "--seeds", "2", *OPTIONS, "--runs", str(tmp_path / "runs")]
    words += ["--out", str(tmp_path / "results"), "--jobs", "1"]
    assert replicate.main([*words, "--hours", "1e-9"]) == 0
    assert "2 methods are left" in capsys.readouterr().out and not list(tmp_path.glob("runs/*/record.sqlite"))
    process = subprocess.Popen([sys.executable, "-m", "handaxe", "replicate", *words], stdout=subprocess.DEVNULL)
    while len(list(tmp_path.glob("runs/*/record.sqlite"))) < 2 and process.poll() is None:
        time.sleep(0.02)
    runs = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    for one in runs:
        one.kill()
    psutil.wait_procs(runs, timeout=10)
    whole = [run for run in tmp_path.glob("runs/*/") if finished(run)]
    before = {run: (run / "record.sqlite").stat().st_mtime_ns for run in whole}
    assert len(whole) >= 1 and replicate.main(words) == 0
    assert {run: (run / "record.sqlite").stat().st_mtime_ns for run in whole} == before, "finished runs are kept"
    results = [Replication.from_json((tmp_path / "results" / f"{name}.json").read_text()) for name in words[:2]]
    assert {name for one in results for name in one.fingerprints} == {"cispo", "gspo", "grpo_no_kl"}
    assert all(one.activation.base == "grpo_no_kl" and len(one.activation.steps) == 2 for one in results)
    controls = sum(any(one.figures.control for one in found.claims) for found in results)
    assert len(list(tmp_path.glob("runs/*/record.sqlite"))) == 2 * (3 + controls)
    assert all(one.decision.verdict in ("undecided", "not testable") for found in results for one in found.claims)


def finished(run):
    return jobs.finished(jobs.TrainingJob("", (), run, 2))
