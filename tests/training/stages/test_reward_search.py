import json
import math
from types import SimpleNamespace

import pytest

from handaxe.core.errors import InputError
from handaxe.training.stages.parts.program_search import FAILED, Feedback, best_trial
from handaxe.training.stages.parts.searched_reward import SearchedReward
from handaxe.training.stages.reward_search import reward_search

HEAD = "def compute_reward(before, after):\n    "
TEXTS = [
    HEAD + "x = after['tokens'] - before['tokens']\n    return x, {'long': x}",
    HEAD + "return 1 / 0, {}",
    HEAD + "x = -after['tokens']\n    return x, {'short': x}",
    HEAD + "return float('inf'), {}",
]


class Author:
    def __init__(self, texts):
        self.texts, self.briefs = texts, []

    def __call__(self, brief, count, seed):
        self.briefs.append(brief)
        start = (len(self.briefs) - 1) * count
        return self.texts[start : start + count]


def round_best(trials, past, seed):
    best = best_trial(trials)
    return None if best is None else Feedback(best)


def searched(world, *, texts=TEXTS, site=None, rounds=2, **arguments):
    reward, author = SearchedReward(world.small_bytes), Author(texts)
    stage = reward_search(
        reward=reward,
        task=world.small_bytes,
        author=author,
        feedback=round_best,
        arguments={**world.TRAIN, "steps": 2, **arguments},
        programs=len(texts) // rounds,
        rounds=rounds,
    )
    site = site or world.site()
    return stage(site), reward, author, site


def test_reward_search_sets_the_best_program_and_leaves_the_policy_as_it_was(world):
    site = world.site()
    before = world.weights(site.engine)
    rows, reward, author, _ = searched(world, site=site)
    assert world.same(before, world.weights(site.engine)) and site.engine.version == 0
    assert reward.text in (TEXTS[0], TEXTS[2])
    assert [row["failed"] for row in rows] == [0.5, 0.5]
    assert rows[1]["best"] == max(row["round_best"] for row in rows) >= rows[0]["best"] > 0
    check = author.briefs[0].check
    assert check(TEXTS[0]) == "" and "ZeroDivisionError" in check(TEXTS[1]) and "is empty" in check("")
    assert author.briefs[0].names == ("calls", "failed", "ok", "tokens", "turn")
    good = author.briefs[1].feedback.good
    assert good.text == TEXTS[0] and set(good.curves) == {"task", "turns", "total", "component/long"}
    assert good.curves["component/long"] == good.curves["total"] and len(good.curves["task"]) == 2
    assert good.score == max(good.curves["task"])


def test_reward_search_trials_differ_by_their_program_alone(world):
    _, _, author, _ = searched(world, texts=[TEXTS[0], TEXTS[0] + "\n"], rounds=2)
    _, _, other, _ = searched(world, texts=[TEXTS[2], TEXTS[0]], rounds=2)
    first, second = (one.briefs[1].feedback.good.curves for one in (author, other))
    assert first["task"][0] == second["task"][0]  # equal tasks, seeds and weights before the first update
    assert first["total"][0] == pytest.approx(-second["total"][0])


def test_reward_search_keeps_the_fallback_if_every_program_fails(world):
    rows, reward, _, _ = searched(world, texts=[TEXTS[1], TEXTS[3]], rounds=1)
    assert reward.text == ""
    assert rows == [
        {"step": 0.0, "round": 0.0, "best": FAILED, "round_best": FAILED, "score": 0.0, "spread": 0.0, "failed": 1.0}
    ]


def test_reward_search_resumes_with_the_trials_of_its_folder(world, tmp_path):
    whole, reward, _, _ = searched(world, site=world.site(out=tmp_path / "whole"))
    trials = json.loads((tmp_path / "whole" / "trials.json").read_text())
    assert [one["text"] for one in trials] == TEXTS
    assert [bool(one["error"]) for one in trials] == [False, True, False, True]
    assert "ZeroDivisionError" in trials[1]["error"] and "inf" in trials[3]["error"]
    for kept in (0, 1, 3, 4):
        folder = tmp_path / f"cut-{kept}"
        folder.mkdir()
        (folder / "trials.json").write_text(json.dumps(trials[:kept]))
        rows, again, _, _ = searched(world, site=world.site(out=folder, resume=True))
        assert rows == whole and again.text == reward.text
        assert json.loads((folder / "trials.json").read_text()) == trials


def test_reward_search_reads_no_trial_of_another_program(world, tmp_path):
    forged = {"text": "another", "score": 9.0, "curves": {}, "error": ""}
    (tmp_path / "trials.json").write_text(json.dumps([forged]))
    rows, _, _, _ = searched(world, site=world.site(out=tmp_path, resume=True))
    assert rows[-1]["best"] < 9.0


def test_reward_search_sets_tasks_and_reward_itself(world):
    with pytest.raises(InputError, match="reward_search sets reward itself"):
        searched(world, reward=world.small_bytes)
    with pytest.raises(InputError, match="train has no argument nonsense"):
        searched(world, nonsense=1)


def test_reward_search_needs_an_engine_that_can_be_copied(world):
    with pytest.raises(InputError, match="SimpleNamespace cannot be copied"):
        searched(world, site=world.site(engine=SimpleNamespace()))


def test_a_program_with_the_bound_of_size_trains_without_overflow(world):
    rows, _, _, _ = searched(world, texts=[HEAD + "return 1e6 * (after['tokens'] % 2), {}"], rounds=1)
    assert math.isfinite(rows[0]["best"])
