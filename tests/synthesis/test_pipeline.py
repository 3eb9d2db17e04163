"""Pipelines: rounds, ledger, kills at every commit, changed steps, decontamination."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.synthesis import steps
from handaxe.synthesis.draft import make_draft
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.step import SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import task_draft

BOUNDARIES = 12
"""Commits of the run of `make()` with 9 tasks."""
FILES = ("tasks.jsonl", "provenance.jsonl", "card.json")
TESTS = [Task("t", (Message("user", "What is 7 plus 7?"),), "14")]


def count_tasks(*, version=1, keeps=lambda number: number % 3 != 2, calls=None):
    """Seed n -> the question about n + n, unless n % 3 == 2."""

    def one(draft):
        n = draft.payload["number"]
        task = Task("", (Message("user", f"What is {n} plus {n}?"),), str(2 * n))
        return kept(task_draft(task, parents=(draft.id,))) if keeps(n) else dropped("left out")

    def run(drafts, at):
        if calls is not None:
            calls.append(("propose", len(drafts)))
        return [one(draft) for draft in drafts]

    return SynthesisStep("propose", run, version=version)


def counted(name, calls, *, version=1):
    """A step that keeps everything, and counts drafts."""

    def run(drafts, at):
        calls.append((name, len(drafts)))
        return [kept(one.noted({name: len(one.notes)})) for one in drafts]

    return SynthesisStep(name, run, version=version)


def make(*more, first=None, batch=8, chunk=3, last=()):
    chosen = (first or count_tasks(), *more, steps.dedupe(), steps.decontaminate(TESTS), *last)
    return Pipeline("counts", chosen, batch=batch, chunk=chunk)


def contents(folder):
    return [(folder / name).read_bytes() for name in FILES]


def test_a_run_makes_the_tasks_and_counts_every_draft(tmp_path):
    report = make().run(out=tmp_path, count=9)
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    assert [row["answer"] for row in rows] == ["0", "2", "6", "8", "12", "18", "20", "24", "26"]
    assert rows[0]["question"] == "What is 0 plus 0?" and len(report.drafts) == 9
    card = json.loads((tmp_path / "card.json").read_text())
    assert card == report.card and card["rounds"] == 2 and card["splits"]["train"] + card["splits"]["test"] == 9
    shown = [(step["name"], step["in"], step["out"], step["reasons"]) for step in card["steps"]]
    assert shown == [
        ("propose", 16, 11, {"left out": 5}),
        ("dedupe", 11, 11, {}),
        ("decontaminate", 11, 10, {"a test task": 1}),
    ]
    lines = [json.loads(line) for line in (tmp_path / "provenance.jsonl").read_text().splitlines()]
    assert len(lines) == 16 + 11 + 11
    (refused,) = [line for line in lines if line["reason"] == "a test task"]
    assert refused["step"] == "decontaminate" and refused["kept"] == []


def commits(tmp_path):
    seen = []
    make().run(out=tmp_path, count=9, progress=seen.append)
    return len(seen)


def dying(boundary):
    """Progress callback that ends the process at a commit, without any clean-up."""
    left = iter(range(boundary))

    def die(state):
        if next(left, None) is None:
            os._exit(9)

    return die


def kill_at_every_commit(folder):
    """Fork at each boundary, and write the exit code of the child. For a process of one thread."""
    for boundary in range(BOUNDARIES):
        child = os.fork()
        if child == 0:
            make().run(out=folder / f"{boundary}", count=9, progress=dying(boundary))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        (folder / f"{boundary}.status").write_text(f"{code}")


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Folders of runs killed at each boundary; a process of its own forks, since this one has threads."""
    folder = tmp_path_factory.mktemp("killed")
    code = (
        f"import pathlib, sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]; import test_pipeline; "
        f"test_pipeline.kill_at_every_commit(pathlib.Path({str(folder)!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
    return folder


@pytest.mark.parametrize("boundary", range(BOUNDARIES))
def test_a_run_killed_at_any_commit_continues_to_the_same_files(boundary, killed, tmp_path):
    whole, cut = tmp_path / "whole", killed / f"{boundary}"
    assert commits(whole) == BOUNDARIES
    assert (killed / f"{boundary}.status").read_text() == "9" and not (cut / "tasks.jsonl").exists()
    report = make().run(out=cut, count=9)
    assert contents(cut) == contents(whole) and report.known > 0


def test_a_second_run_computes_nothing_and_a_larger_count_goes_on(tmp_path):
    first = make().run(out=tmp_path, count=5)
    files = contents(tmp_path)
    again = make().run(out=tmp_path, count=5)
    assert (again.computed, again.known) == (0, first.computed) and contents(tmp_path) == files
    more = make().run(out=tmp_path, count=12)
    assert more.known == first.computed and more.computed > 0 and more.drafts[:5] == first.drafts


def test_a_changed_step_runs_again_with_everything_after_it(tmp_path):
    def run(second):
        calls = []
        chosen = [counted("a", calls), counted("b", calls, version=second), counted("c", calls)]
        make(*chosen, first=count_tasks(calls=calls)).run(out=tmp_path, count=5)
        return {name: sum(n for other, n in calls if other == name) for name in ("propose", "a", "b", "c")}

    assert run(1) == {"propose": 8, "a": 6, "b": 6, "c": 6}
    assert run(1) == {"propose": 0, "a": 0, "b": 0, "c": 0}
    assert run(2) == {"propose": 0, "a": 0, "b": 6, "c": 6}


def test_another_seed_shares_no_outcome(tmp_path):
    make().run(out=tmp_path, count=5, seed=0)
    assert make().run(out=tmp_path, count=5, seed=1).known == 0


@pytest.mark.parametrize("chunk", [1, 5, 64])
def test_files_do_not_depend_on_the_size_of_a_commit(chunk, tmp_path):
    make(chunk=3).run(out=tmp_path / "a", count=9)
    make(chunk=chunk).run(out=tmp_path / "b", count=9)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_exhausted_proposals_end_the_run(tmp_path):
    report = make(first=count_tasks(keeps=lambda number: number < 4)).run(out=tmp_path, count=100)
    assert len(report.drafts) == 4 and report.card["rounds"] == 5


def test_a_pipeline_needs_decontamination_and_different_names():
    with pytest.raises(InputError, match="has no step that decontaminates"):
        Pipeline("mine", (count_tasks(), steps.dedupe()))
    with pytest.raises(InputError, match="share a name: propose, propose"):
        Pipeline("mine", (count_tasks(), count_tasks()))
    with pytest.raises(InputError, match="batch is 0"):
        make(batch=0)
    with pytest.raises(InputError, match="no test tasks"):
        steps.decontaminate([])


def test_no_draft_changes_after_decontamination(tmp_path):
    def reworded(drafts, at):
        changed = [{**one.payload, "messages": [{"role": "user", "content": "What is 7 plus 7?"}]} for one in drafts]
        return [kept(make_draft("task", payload)) for payload in changed]

    with pytest.raises(InputError, match="step reword changes drafts after decontamination"):
        make(last=(SynthesisStep("reword", reworded),)).run(out=tmp_path, count=3)
    noted = SynthesisStep("note", lambda drafts, at: [kept(one.noted({"pass_rate": 0.5})) for one in drafts])
    report = make(last=(noted,)).run(out=tmp_path, count=3)
    assert all(one.notes == {"pass_rate": 0.5} for one in report.drafts)


def test_a_step_with_too_few_outcomes_is_named(tmp_path):
    with pytest.raises(InputError, match="step short made 0 outcomes of 3 drafts"):
        make(SynthesisStep("short", lambda drafts, at: [])).run(out=tmp_path, count=3)


def test_count_and_workers_start_at_1(tmp_path):
    for given in ({"count": 0}, {"count": 1, "workers": 0}):
        with pytest.raises(InputError, match="give 1 or more"):
            make().run(out=tmp_path, **given)
