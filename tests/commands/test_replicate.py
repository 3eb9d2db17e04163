import signal
import subprocess
import sys
import time

import psutil
import pytest

from handaxe.commands import compare, replicate
from handaxe.core.errors import InputError
from handaxe.evaluation.figures import RunFigures
from handaxe.evaluation.replication import Replication

OPTIONS = "--steps 2 --groups 2 --group-size 2 --held-out 4 --model tiny"


@pytest.mark.slow
def test_it_is_stopped_goes_on_and_decides(tmp_path):
    """Ended by a scheduler in the first runs, none of which stays behind; the second call does the others, and the
    figures are those of the runs. iStar's base has no judge: its second claim, about it, is of its own runs alone."""
    words = ["istar", "--seeds", "2", f"--options={OPTIONS}", "--runs", str(tmp_path / "runs")]
    words += ["--out", str(tmp_path / "results")]
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
    assert found.claims[0].control is not None, "a claim about what is learned has a run with scores dealt out anew"
    assert len(list(tmp_path.glob("runs/*/record.sqlite"))) == 5
    assert (tmp_path / "results" / "istar.png").read_bytes()[:4] == b"\x89PNG"
    assert [set(sides) for metric, sides in found.curves.items() if metric.endswith("step_gap")] == [{"istar"}]
    assert set(found.curves["training/reward"]) == {"istar", "rloo"}
    paired = found.claims[0].decision.paired
    assert paired.difference == pytest.approx(sum(a - b for a, b in zip(paired.ours, paired.theirs)) / 2)
    assert compare.main(["istar", "rloo", "--seeds", "2", "--first-seed", "100", f"--options={OPTIONS}",
                         "--runs", str(tmp_path / "runs"), "--json", str(tmp_path / "both.json")]) == 0  # fmt: skip
    assert len(list(tmp_path.glob("runs/*/record.sqlite"))) == 5, "the runs were there"
    assert '"pass@1"' in (tmp_path / "both.json").read_text()


def test_the_plot_shows_what_turns_earn():
    by_turn = [RunFigures([{"reward": 0.0, "reward/all": 0.5}], {})] * 2
    plain = [RunFigures([{"reward": 0.25}], {})] * 2
    assert replicate._own(replicate.EARNED, by_turn) == "training/reward/all"
    assert replicate._own(replicate.EARNED, plain) == replicate._own("training/reward", by_turn) == "training/reward"


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "--all, or some of"), (["otc", "--seeds", "1"], "2 or more"), (["plain"], "claims nothing")],
)
def test_bad_words(words, said, tmp_path):
    with pytest.raises(InputError, match=said):
        replicate.main([*words, "--runs", str(tmp_path)])


@pytest.mark.parametrize("words", [["otc"], ["otc", "otc"], ["otc", "grpo", "--seeds", "1"]])
def test_too_little_to_compare(words, tmp_path):
    with pytest.raises(InputError, match="2 or more of each"):
        compare.main([*words, "--runs", str(tmp_path)])
