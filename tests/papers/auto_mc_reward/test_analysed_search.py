import json
from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.asking.ask import AskAnswer
from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.papers.auto_mc_reward.analysed_search import ReviewRoles, analysed_search
from handaxe.papers.auto_mc_reward.bounded_programs import bounded_programs
from handaxe.papers.auto_mc_reward.failure_feedback import failure_feedback
from handaxe.papers.auto_mc_reward.sign_bounded import sign_bounded
from handaxe.training.stages.parts.repaired import repaired
from handaxe.training.stages.parts.searched_reward import SearchedReward

HEAD = "def compute_reward(before, after):\n    "
CONSTANT = HEAD + "return after['tokens'], {}"
MENDED = HEAD + "return 7.0 if after['turn'] == 1 else -7.0, {}"
TEXTS = [CONSTANT, HEAD + "return 0.0, {}"]


def even(group):
    """Task: solved if the sum of the sampled ids is even."""
    sums = [sum(int(own.ids[own.mask].sum()) for own in one.sequences) for one in group]
    return Scores(np.array([float(value % 2 == 0) for value in sums]))


def searched(world, *, site=None, **options):
    briefs = []

    def author(brief, count, seed):
        briefs.append(brief)
        return TEXTS[:count]

    reward = SearchedReward(even)
    designed = repaired(author=author, repair=lambda text, brief, seed: MENDED, repairs=1)
    arguments = {**world.TRAIN, "steps": 1, "groups": 2}
    stage = analysed_search(
        reward=reward,
        task=even,
        author=bounded_programs(author=designed),
        feedback=failure_feedback(),
        arguments={**arguments, "credit": sign_bounded(credit=arguments["credit"])},
        programs=2,
        rounds=2,
        **options,
    )
    assert stage.__qualname__.startswith("reward_search.")  # names of figures in claims
    site = site or world.site()
    return stage(site), reward, briefs, site


@pytest.fixture(scope="module")
def whole(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    rows, reward, briefs, _ = searched(world, site=world.site(out=folder))
    return rows, reward.text, briefs, folder


def test_the_stage_counts_objections_and_returns_failures_to_the_author(whole):
    rows, text, briefs, folder = whole
    assert [row["rejected"] for row in rows] == [0.5, 0.5]  # one program of two, mended at once
    assert [row["failed"] for row in rows] == [0.0, 0.0]
    assert briefs[0].feedback.good is None
    failures = [name for name in briefs[1].feedback.good.curves if name.startswith("failure/")]
    assert "failure/turn" in failures
    trials = json.loads((folder / "trials.json").read_text())
    assert len(trials) == 4
    curves = [one["curves"] for one in trials]
    assert all(abs(own["total"][0]) <= 0.1 * own["turns"][0] + 1e-9 for own in curves)
    assert MENDED in trials[0]["text"] and CONSTANT not in trials[0]["text"]
    assert text in {one["text"] for one in trials}


def test_a_resumed_stage_repeats_no_trial(whole, world, tmp_path):
    rows, text, _, folder = whole
    trials = json.loads((folder / "trials.json").read_text())
    (tmp_path / "trials.json").write_text(json.dumps(trials[:3]))
    again, reward, _, _ = searched(world, site=world.site(out=tmp_path, resume=True))
    assert again == rows and reward.text == text


class Reviewer:
    """Objects to the program that pays for tokens, and names a cause of failures."""

    terse = True
    asked = []

    def fingerprint(self):
        return "reviewer"

    def answer(self, asks):
        type(self).asked += [ask.role for ask in asks]
        return [AskAnswer(text=self._text(ask), by="reviewer") for ask in asks]

    def _text(self, ask):
        if ask.role == "analyser":
            return "The agent waits."
        return "It pays for tokens." if "tokens" in ask.fields["program"] else "fine"


def test_models_review_programs_and_failures(world, tmp_path):
    Reviewer.asked.clear()
    source = f"{__name__}:Reviewer"
    roles = ReviewRoles("sums", source, source)
    rows, _, briefs, _ = searched(world, site=world.site(out=tmp_path), roles=roles)
    assert [row["rejected"] for row in rows] == [0.5, 0.5]
    assert briefs[1].feedback.text.endswith("The agent waits.")
    assert list(briefs[1].feedback.good.curves) == ["task"], "the rule's causes are left out"
    assert Reviewer.asked == ["critic", "critic", "analyser"], "equal questions are asked once"
    before = len(Reviewer.asked)
    again, _, resumed, _ = searched(world, site=world.site(out=tmp_path, resume=True), roles=roles)
    assert again == rows and resumed[1].feedback == briefs[1].feedback
    assert len(Reviewer.asked) == before, "a resumed stage asks no model"


def test_the_stage_needs_an_engine_that_can_be_copied(world):
    with pytest.raises(InputError, match="SimpleNamespace cannot be copied"):
        searched(world, site=world.site(engine=SimpleNamespace()))
