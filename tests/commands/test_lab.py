"""`handaxe lab`: a recorded run scored again, rewards compared and attacked, and the page with its check."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import handaxe
from handaxe import cli
from handaxe.commands import lab, lab_page, lab_trials
from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.evaluation.rescoring import count_differences, rescore, scored_groups
from handaxe.methods import reward_trials
from handaxe.methods.catalog import list_methods
from handaxe.methods.reward_lookup import find_reward
from handaxe.methods.run import run
from handaxe.rewards.action_score import action_score
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.well_formed import well_formed
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.hops.world import hops

SMALL = ["--steps", "3", "--groups", "4", "--group-size", "4", "--held-out", "2", "--seed", "1", "--wait", "0"]
MINE = """
from handaxe.judges import step_status
from handaxe.rewards import answer_score, outcome

judge = step_status()
contains = answer_score(scorer=lambda task, text: float(task.answer in text))

@outcome
def broken(one):
    return 1 / len(one.final_text)

@outcome
def undecided(one):
    return float("nan")

def breaks(group):
    raise RuntimeError("no reward")

nothing = 3
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Three steps of OTC, with a stateful reward."""
    folder = tmp_path_factory.mktemp("lab") / "run"
    made = parse_train("otc", [*SMALL, "--model", "tiny"], prog="", also={"run": RunOptions})[0]
    run(made, RunConfig(out=folder, progress=False, recipe={"name": "otc", "arguments": made.arguments()}))
    return folder


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The module lab_mine in the current folder."""
    (tmp_path / "lab_mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_runs_reward_repeats_the_record_and_others_are_compared(played, tmp_path, capsys):
    file = tmp_path / "lab.json"
    assert lab.main([str(played), "--rewards", "exact_match", "grpo_no_kl", "--json", str(file)]) == 0
    body, shown = json.loads(file.read_text()), capsys.readouterr().out
    assert "repeats the recorded score of 48 of 48 rollouts" in shown and "uniform" in shown
    assert (body["rollouts"], body["changed"]) == (48, 0)
    assert set(body["agreement"]) == {"exact_match", "grpo_no_kl"}
    assert "agreement with each other" in shown and body["pairs"]["exact_match and grpo_no_kl"]["rollouts"] == 48
    assert set(body["seconds"]) == {"its own", *body["agreement"]} and len(body["pairs"]) == 1
    with RunRecord.open(played) as record:
        recorded = scored_groups(record.groups())
    other = rescore(exact_match(), [group for group, _ in recorded])
    equal = 1 - count_differences(recorded, other.scored) / 48
    assert body["agreement"]["exact_match"]["equal"] == pytest.approx(equal, abs=1e-9)
    assert body["channels"]["exact_match"][0]["mean"] == pytest.approx(
        np.mean(np.concatenate([scores.outcome for _, scores in other.scored]))
    )
    assert all(one["repeated"] == one["reordered"] == 0 for one in body["determinism"].values())


def test_a_reward_that_differs_from_the_record_exits_with_1(played, monkeypatch, capsys):
    monkeypatch.setattr(lab_trials, "training_reward", lambda chosen, run: find_reward("well_formed"))
    assert lab.main([str(played), "--groups", "2"]) == 1
    assert "score of 48 of 48" not in capsys.readouterr().out


def test_pictures_are_written_without_external_links(played, tmp_path):
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    lab.main([str(played), "--rewards", "exact_match", "--groups", "1", "--svg", str(svg), "--plot", str(png)])
    assert png.read_bytes()[:4] == b"\x89PNG"
    text = svg.read_text()
    assert "&#160;--rewards&#160;exact_match" in text
    assert "rho" in text and "font-face" not in text
    assert set(re.findall(r"https?://[^\"'< ]+", text)) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}


def test_rewards_and_judges_of_a_users_module(mine, played, tmp_path, capsys):
    file = tmp_path / "out.json"
    assert lab.main([str(played), "--groups", "1", "--rewards", "lab_mine:judge", "--json", str(file)]) == 0
    assert json.loads(file.read_text())["agreement"]["lab_mine:judge"]["rollouts"] == 48
    words = [str(played), "--groups", "1", "--rewards", "lab_mine:undecided", "grpo_no_kl", "--json", str(file)]
    assert lab.main(words) == 0 and json.loads(file.read_text())["agreement"]["lab_mine:undecided"]["rollouts"] == 0
    assert lab.main([str(played), "--groups", "1", "--rewards", "lab_mine:breaks"]) == 1
    assert "it raised RuntimeError: no reward" in capsys.readouterr().out
    assert lab.main(["--attack", "lab_mine:breaks", "--world", "arithmetic", "--scenes", "1"]) == 1
    assert capsys.readouterr().out.count("lab_mine:breaks: it raised RuntimeError") == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("lab_mine:nothing", "neither a reward nor a judge"),
        ("lab_mine:none", "has no 'none'"),
        ("no_such", "no reward, judge or method"),
        ("weighted", "needs arguments"),
    ],
)
def test_an_unknown_reward_is_an_error(mine, played, name, why):
    with pytest.raises(InputError, match=why):
        lab.main([str(played), "--rewards", name])


def test_attacks_on_a_method_and_on_a_users_reward(mine, tmp_path, capsys):
    file = tmp_path / "a.json"
    assert lab.main(["--attack", "otc", "--scenes", "1", "--json", str(file)]) == 0
    (one,) = json.loads(file.read_text())["attacks"]
    assert one["measures_correctness"] and one["falls"] == [] and len(one["attacks"]) == 10
    words = ["--attack", "lab_mine:contains", "--world", "arithmetic", "--scenes", "1", "--json", str(file)]
    assert lab.main(words) == 1
    assert "gold among many" in json.loads(file.read_text())["attacks"][0]["falls"]
    shown = capsys.readouterr().out
    assert "look-alikes" in shown and "1.00" in shown


def test_wrong_input_is_one_line(tmp_path, capsys):
    for words in ([], ["--attack", "exact_match"], [str(tmp_path)], ["--attack", "otc", "--scenes", "0"]):
        assert cli.main(["lab", *words]) == 2
        assert capsys.readouterr().err.startswith("error: ")
    with pytest.raises(InputError, match="lacks the line"):
        lab.main(["--page", "--root", str(tmp_path)])


def test_every_reward_and_judge_has_a_case_or_a_reason(monkeypatch):
    rows = lab_page.lab_rows()
    assert all(rows.reasons.values()) and len(rows.cases) > 60
    known = lab_page.read_test_constant
    monkeypatch.setattr(
        lab_page, "read_test_constant", lambda module, name: None if "token_f1" in module else known(module, name)
    )
    with pytest.raises(InputError, match="tests/rewards/test_token_f1.py has no constant LAB"):
        lab_page.lab_rows()


def test_the_page_shows_every_case_and_method():
    page = (Path(handaxe.__file__).parents[1] / "docs" / "lab.md").read_text()
    shown = {one.text for one in lab_page.lab_rows().cases} | {one.name for one in list_methods()}
    assert not {name for name in shown if f"`{name}`" not in page}, "rewrite it: handaxe lab --page"


@pytest.mark.slow
def test_a_stale_page_is_found_and_a_written_page_is_not(tmp_path, monkeypatch):
    cases = [
        LabCase("exact_match()", arithmetic, lambda world: exact_match()),
        LabCase("action_score(...)", hops, lambda world: action_score(gold=world.need("reference")), why="By formula."),
        LabCase("well_formed()", arithmetic, lambda world: well_formed()),
    ]
    monkeypatch.setattr(lab_page, "lab_rows", lambda: lab_page.LabRows(cases, {"gate": "of its rewards"}))
    monkeypatch.setattr(lab_page, "method_rows", lambda: lab_page.MethodRows({}, ["otc"], ["world arithmetic"], {}))
    monkeypatch.setattr(reward_trials, "_names", lambda: ["grpo_no_kl", "otc"])
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "lab.md"
    page.write_text("by hand\n" + lab_page.MARK + "stale words\n")
    where = ["--page", "--root", str(tmp_path)]
    with pytest.raises(Exception, match="stale"):
        lab.main([*where, "--check"])
    assert lab.main(where) == 0
    text = page.read_text()
    assert text.startswith("by hand\n") and "stale words" not in text
    assert "- `action_score(...)` in hops: gold among many (3 of 3" in text and "By formula." in text
    assert (
        "Methods with the correctness rule of the world as reward: `grpo_no_kl`." in text
        and "| `otc` | arithmetic |" in text
    )
    assert lab.main([*where, "--check"]) == 0
    # Lines of rewards that call a model, or depend on the processor, are not compared; all other changes are found.
    for own in ("otc", "world arithmetic"):
        changed = text.replace(f"| `{own}` | arithmetic | 1.00", f"| `{own}` | arithmetic | 0.70")
        assert changed != text
        page.write_text(changed)
        assert lab.main([*where, "--check"]) == 0
    page.write_text(text.replace("| **1.00** |", "| 1.00 |", 1))
    with pytest.raises(Exception, match="stale"):
        lab.main([*where, "--check"])
