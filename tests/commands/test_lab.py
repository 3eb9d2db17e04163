"""`handaxe lab`: a real short run scored again, rewards compared and attacked; the page, and when it is stale."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import handaxe
from handaxe import cli
from handaxe.commands import lab, lab_page
from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.evaluation.lab_cases import LAB_CASES
from handaxe.evaluation.lab_words import EXPLAINED, NOT_TRIED
from handaxe.evaluation.rescoring import differences, rescore, scored_groups
from handaxe.methods import reward_trials as tried
from handaxe.methods.catalog import list_methods
from handaxe.methods.reward_lookup import reward_named
from handaxe.methods.run import run
from handaxe.rewards.exact_match import exact_match
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

SMALL = ["--steps", "3", "--groups", "4", "--group-size", "4", "--held-out", "2", "--seed", "1", "--wait", "0"]
MINE = """
from handaxe.judges import step_status
from handaxe.rewards import outcome

judge = step_status()

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
    """Three steps of OTC, whose reward remembers."""
    folder = tmp_path_factory.mktemp("lab") / "run"
    made = parse_train("otc", [*SMALL, "--model", "tiny"], prog="", also={"run": RunOptions})[0]
    run(made, RunConfig(out=folder, progress=False, recipe={"name": "otc", "arguments": made.arguments()}))
    return folder


def test_a_run_scored_again_is_as_it_was_recorded(played, tmp_path, capsys):
    file = tmp_path / "lab.json"
    assert lab.main([str(played), "--rewards", "exact_match", "plain", "--json", str(file)]) == 0
    body, shown = json.loads(file.read_text()), capsys.readouterr().out
    assert "says the same of 48 of 48 attempts" in shown and "alike" in shown
    assert (body["attempts"], body["changed"]) == (48, 0)
    assert set(body["agreement"]) == {"exact_match", "plain"} and set(body["pairs"]) == {"exact_match and plain"}
    assert "agreement with each other" in shown and body["pairs"]["exact_match and plain"]["attempts"] == 48
    assert set(body["seconds"]) == {
        "its own",
        *body["agreement"],
    }
    with RunRecord.open(played) as record:
        recorded = scored_groups(record.groups())
    other = rescore(exact_match(), [group for group, _ in recorded])
    equal = 1 - differences(recorded, other.scored) / 48
    assert body["agreement"]["exact_match"]["equal"] == pytest.approx(equal, abs=1e-9)
    assert body["channels"]["exact_match"][0]["mean"] == pytest.approx(
        np.mean(np.concatenate([scores.outcome for _, scores in other.scored]))
    )
    assert all(one["twice"] == one["reordered"] == 0 for one in body["determinism"].values())


def test_another_record_is_told(played, tmp_path, monkeypatch, capsys):
    """A reward that says something else than was recorded: the exit code is 1, and the line says of how many."""
    monkeypatch.setattr(lab, "reward_of", lambda chosen: reward_named("well_formed"))
    assert lab.main([str(played), "--groups", "2"]) == 1
    assert "says the same of 48 of 48" not in capsys.readouterr().out


def test_pictures_are_written_and_ask_no_server(played, tmp_path):
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    lab.main([str(played), "--rewards", "exact_match", "--groups", "1", "--svg", str(svg), "--plot", str(png)])
    assert png.read_bytes()[:4] == b"\x89PNG"
    text = svg.read_text()
    assert "&#160;--rewards&#160;exact_match" in text
    assert "rho" in text and "font-face" not in text
    assert set(re.findall(r"https?://[^\"'< ]+", text)) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}


def test_rewards_and_judges_of_ones_own(played, tmp_path, monkeypatch, capsys):
    (tmp_path / "lab_mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "out.json"
    assert lab.main([str(played), "--groups", "1", "--rewards", "lab_mine:judge", "--json", str(file)]) == 0
    assert json.loads(file.read_text())["agreement"]["lab_mine:judge"]["attempts"] == 48
    words = [str(played), "--groups", "1", "--rewards", "lab_mine:undecided", "plain", "--json", str(file)]
    assert lab.main(words) == 0 and json.loads(file.read_text())["agreement"]["lab_mine:undecided"]["attempts"] == 0
    assert lab.main([str(played), "--groups", "1", "--rewards", "lab_mine:breaks"]) == 1
    assert "it raised RuntimeError: no reward" in capsys.readouterr().out
    assert lab.main(["--attack", "lab_mine:breaks", "--world", "sums", "--scenes", "1"]) == 1
    assert capsys.readouterr().out.count("lab_mine:breaks: it raised RuntimeError") == 1
    reward_named("graded_call")
    for name, why in {
        "lab_mine:nothing": "neither a reward nor a judge",
        "lab_mine:none": "has no 'none'",
        "no_such": "no reward, judge or recipe",
        "weighted": "takes arguments",
    }.items():
        with pytest.raises(InputError, match=why):
            lab.main([str(played), "--rewards", name])


def test_rewards_are_attacked(tmp_path, capsys):
    file = tmp_path / "a.json"
    assert lab.main(["--attack", "otc", "--scenes", "1", "--json", str(file)]) == 0
    (one,) = json.loads(file.read_text())["attacks"]
    assert one["right"] and one["falls"] == [] and len(one["attacks"]) == 10
    assert lab.main(["--attack", "edit_similarity", "--world", "described", "--scenes", "1", "--json", str(file)]) == 1
    assert json.loads(file.read_text())["attacks"][0]["falls"] == ["gold among many"]
    shown = capsys.readouterr().out
    assert "look-alikes" in shown and "1.00" in shown


def test_wrong_input_is_one_line(tmp_path, capsys):
    for words in ([], ["--attack", "exact_match"], [str(tmp_path)], ["--attack", "otc", "--scenes", "0"]):
        assert cli.main(["lab", *words]) == 2
        assert capsys.readouterr().err.startswith("error: ")
    with pytest.raises(InputError, match="lacks the line"):
        lab.main(["--page", "--root", str(tmp_path)])


def test_every_reward_and_judge_is_tried_or_left_out_with_a_reason(monkeypatch):
    assert lab_page._complete(LAB_CASES) is LAB_CASES and all({**NOT_TRIED, **EXPLAINED}.values())
    with pytest.raises(InputError, match="tries exact_match nowhere"):
        lab_page._complete([case for case in LAB_CASES if case.mechanism != "exact_match"])
    with pytest.raises(InputError, match="tries noisy, step_status nowhere"):
        lab_page._complete([case for case in LAB_CASES if case.mechanism not in ("noisy", "step_status")])


def test_the_page_has_all_that_is_tried():
    page = (Path(handaxe.__file__).parents[1] / "docs" / "lab.md").read_text()
    tried = {one.said for one in LAB_CASES} | {one.name for one in list_methods()}
    assert not {name for name in tried if f"`{name}`" not in page}, "write it anew: handaxe lab --page"


def test_a_stale_page_is_told_and_a_fresh_one_is_not(tmp_path, monkeypatch, capsys):
    names = ("exact_match", "action_score", "well_formed", "embedding_match")
    few = [one for one in LAB_CASES if one.mechanism in names]
    monkeypatch.setattr(lab_page, "_complete", lambda cases: few)
    monkeypatch.setattr(tried, "_names", lambda: ["plain", "otc"])
    monkeypatch.setattr(tried, "ASKS_MODEL", ("otc",))
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "lab.md"
    page.write_text("by hand\n" + lab_page.MARK + "stale words\n")
    where = ["--page", "--root", str(tmp_path)]
    with pytest.raises(Exception, match="stale"):
        lab.main([*where, "--check"])
    assert lab.main(where) == 0
    text = page.read_text()
    assert text.startswith("by hand\n") and "stale words" not in text
    assert "- `action_score(...)` in hops: gold among many (3 of 3" in text and EXPLAINED["action_score"] in text
    assert "These pay what their world pays: `plain`." in text and "| `otc` | sums |" in text
    assert lab.main([*where, "--check"]) == 0
    # A model's line stands as it is; any other that is wrong is found.
    page.write_text(text.replace("| `otc` | sums | 1.00", "| `otc` | sums | 0.70"))
    assert lab.main([*where, "--check"]) == 0
    page.write_text(text.replace("| **1.00** |", "| 1.00 |", 1))
    with pytest.raises(Exception, match="stale"):
        lab.main([*where, "--check"])
