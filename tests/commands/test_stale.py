import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from handaxe.commands.claim_sides import claim_sides
from handaxe.commands.stale import check_results
from handaxe.evaluation.replication import Replication
from handaxe.methods.catalog import HOME, list_methods
from handaxe.methods.fingerprint import Fingerprinter
from handaxe.view.papers import Entry


def entry(name):
    """The method with its result."""
    method = next(one for one in list_methods() if one.name == name)
    return Entry(method, Replication.from_json(method.result_file.read_text()))


def stamped(name, made):
    """The method's result with present fingerprints and arguments."""
    ours, baselines = claim_sides(name)
    sides = {one.name: one for one in (ours, *baselines.values())}
    result = replace(
        entry(name).result,
        fingerprints={one.name: made.fingerprint(one.spec) for one in sides.values()},
        arguments=ours.arguments(),
        baselines={one.name: one.arguments() for one in baselines.values()},
    )
    return entry(name)._replace(result=result)


@pytest.fixture(scope="module")
def made():
    return Fingerprinter()


def test_a_result_with_the_present_fingerprint_is_fresh(made):
    (state,) = check_results([stamped("dr_grpo", made)], made)
    assert not state.stale and not state.changed and not state.bare


def test_a_result_without_a_fingerprint_is_bare(made):
    bare = entry("dr_grpo")
    (state,) = check_results([bare._replace(result=replace(bare.result, fingerprints={}))], made)
    assert state.bare and state.stale and not state.changed
    assert check_results([bare._replace(result=None)], made) == []


def test_changed_parts_and_arguments_are_named_by_side(made):
    one = stamped("dr_grpo", made)
    ours, base = one.result.fingerprints["dr_grpo"], one.result.fingerprints["grpo_no_kl"]
    old = replace(
        one.result,
        fingerprints={"dr_grpo": {**ours, "scores": "0"}, "grpo_no_kl": base},
        baselines={"grpo_no_kl": {**one.result.baselines["grpo_no_kl"], "steps": 1, "removed": 2}},
    )
    (state,) = check_results([one._replace(result=old)], made)
    assert state.changed == {"dr_grpo": ["scores"], "grpo_no_kl": ["arguments"]}
    assert state.describe() == "dr_grpo: scores of dr_grpo; arguments of grpo_no_kl"


def test_an_option_that_is_new_since_the_result_is_no_change(made):
    one = stamped("dr_grpo", made)
    arguments = {key: value for key, value in one.result.arguments.items() if key != "schedule"}
    assert not check_results([one._replace(result=replace(one.result, arguments=arguments))], made)[0].stale


@pytest.mark.slow
def test_a_result_with_other_held_out_tasks_is_not_stale(made):
    one = stamped("dr_grpo", made)
    arguments = {**one.result.arguments, "held_out": 200, "samples": 2}
    assert not check_results([one._replace(result=replace(one.result, arguments=arguments))], made)[0].stale


def test_an_unknown_version_is_reported_as_not_checked(made):
    one = stamped("dr_grpo", made)
    (state,) = check_results([one._replace(result=replace(one.result, fingerprints={"dr_grpo": {"version": 0}}))], made)
    assert not state.stale and "version 0" in state.reason


STAMP = """
import sys
from dataclasses import replace
from pathlib import Path
from handaxe.commands.claim_sides import claim_sides
from handaxe.commands.papers import read_entries
from handaxe.methods.fingerprint import Fingerprinter
made = Fingerprinter()
for one in read_entries(Path(sys.argv[1]))[0]:
    if one.result is None or one.method.name not in sys.argv[2:]:
        one.method.result_file.unlink(missing_ok=True)
        continue
    ours, baselines = claim_sides(one.method.name)
    sides = {side.name: side for side in (ours, *baselines.values())}
    result = replace(one.result, fingerprints={n: made.fingerprint(s.spec) for n, s in sides.items()},
                     arguments=ours.arguments(), baselines={s.name: s.arguments() for s in baselines.values()})
    one.method.result_file.write_text(result.to_json())
"""
NAMES = ("otc", "dr_grpo", "toolrl", "smart", "cleaner", "marag", "reasoning_sql")


@pytest.mark.slow
def test_a_changed_constant_of_a_scorer_names_the_papers_that_use_it(tmp_path):
    """A copy of the package, in which two sets of `set_overlap` share three quarters of their elements."""
    copy = tmp_path / "handaxe"
    shutil.copytree(HOME, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyproject.toml").write_text("")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*words):
        return subprocess.run(
            [sys.executable, *words], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600
        )

    def check():
        return run("-m", "handaxe", "papers", "--check", "--root", str(tmp_path))

    script = tmp_path / "stamp.py"
    script.write_text(STAMP)
    stamped = run(str(script), str(tmp_path), *NAMES)
    assert stamped.returncode == 0, stamped.stderr
    assert run("-m", "handaxe", "papers", "--root", str(tmp_path)).returncode == 0
    first = check()
    assert first.returncode == 0 and f"checked    {len(NAMES)} results" in first.stdout, first.stdout + first.stderr
    scorer = copy / "rewards" / "set_overlap.py"
    text = scorer.read_text()
    changed = text.replace("common = len(have & want)\n", "common = 0.75 * len(have & want)\n")
    assert changed != text
    scorer.write_text(changed)
    second = check()
    stale = [line.split()[1].rstrip(":") for line in second.stdout.splitlines() if line.startswith("stale:")]
    users = {name for name in NAMES if _uses_set_overlap(name)}
    assert second.returncode == 1 and set(stale) == users and 2 <= len(users) < len(NAMES), second.stdout


def _uses_set_overlap(name):
    """A module of the method's folder calls `set_overlap`."""
    method = next(one for one in list_methods() if one.name == name)
    return any("set_overlap(" in file.read_text() for file in method.folder.glob("*.py"))
