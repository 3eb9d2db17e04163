import json

import numpy as np
import pytest

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.records import Scores
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.mpo.evolving_rubric import EvolvingRubric, choose_samples, score_correlation
from handaxe.papers.mpo.letter_rules import EACH, FIRST_RUBRIC, ONCE, OTHERS, USES, RuleJunior, RuleMeta
from handaxe.papers.mpo.required_letters import required_letters
from handaxe.papers.mpo.rubric_sample import RubricSample
from handaxe.rewards.judged import judged
from handaxe.testing.judges import check_judge
from handaxe.testing.make_records import make_group, make_rated, make_task, make_trajectory

TASK = make_task(metadata={"required": "bdf"})


def made(junior=None, meta=None, **options):
    junior = junior or RuleJunior()
    return EvolvingRubric(junior, meta or RuleMeta(junior), **{"initial": FIRST_RUBRIC, **options})


def batch(judge, *lines, quality=None):
    """A step with one group."""
    group = make_group(task=TASK, trajectories=[make_trajectory(texts=[line], task=TASK) for line in lines])
    score_G = judge.score(group)
    channels = {"judged": score_G, "quality": np.array(quality or [0.0] * len(lines))}
    return [make_rated(group=group, scores=Scores(score_G, channels=channels))]


LAB = [LabCase("EvolvingRubric(initial=(EACH, ONCE, OTHERS))", required_letters, lambda world: full())]
CONTRACT = []
"""Its rule reads the letters of the task; see below."""


def full():
    return judged(judge=made(initial=(EACH, ONCE, OTHERS)))


class Scripted:
    """Meta model with known replies, which records what it gets."""

    def __init__(self, merged=("new",)):
        self.merged, self.calls = merged, []

    def screen(self, rubric, samples):
        self.calls.append(("screen", rubric, [one.text for one in samples]))
        return [one.text.startswith("x") for one in samples]

    def analyse(self, rubric, samples):
        self.calls.append(("analyse", rubric, [one.text for one in samples]))
        return [one.text for one in samples]

    def refine(self, rubric, critiques):
        self.calls.append(("refine", rubric, list(critiques)))
        return [(f"no {one}", f"no {one}", "short") for one in critiques]

    def merge(self, rubric, proposals):
        self.calls.append(("merge", rubric, list(proposals)))
        return self.merged


def test_the_judge_keeps_the_contract():
    trajectories = [make_trajectory(id=line, texts=[line], task=TASK) for line in ("bdf", "bbdf", "", "a")]
    check_judge(made(), make_group(task=TASK, trajectories=trajectories))


def test_batches_10_20_and_30_write_three_versions():
    judge = made()
    versions = [judge.learn(batch(judge, "bbdf"), step=step)["version"] for step in range(35)]
    assert versions == [0.0] * 9 + [1.0] * 10 + [2.0] * 10 + [3.0] * 6
    assert judge.versions == [(USES,), (EACH,), (EACH, ONCE), (EACH, ONCE)]


def test_the_next_batch_is_scored_by_the_new_version():
    judge = made(interval=1)
    (before,) = batch(judge, "bbdfb")
    found = judge.learn([before], step=0)
    assert before.scores.outcome.tolist() == [5] and batch(judge, "bbdfb")[0].scores.outcome.tolist() == [6]
    assert found == {"correlation": 0, "version": 1, "items": 1, "words": 11, "bad": 1, "changed": 1}


def test_an_interval_of_0_keeps_the_rubric():
    judge = made(interval=0)
    for step in range(25):
        judge.learn(batch(judge, "bbdf"), step=step)
    assert judge.versions == [FIRST_RUBRIC]


def test_bad_samples_come_first_and_each_part_of_the_update_gets_the_result_of_the_last():
    meta = Scripted(merged=("a", "b", "a"))
    judge = made(meta=meta, interval=1, samples=3)
    found = judge.learn(batch(judge, "b", "xb", "d", "xd", "f"), step=0)
    (screen, analyse, refine, merge) = meta.calls
    assert [one[0] for one in meta.calls] == ["screen", "analyse", "refine", "merge"]
    assert screen[2] == ["b", "xb", "d", "xd", "f"] and set(analyse[2][:2]) == {"xb", "xd"} and len(analyse[2]) == 3
    assert refine[2] == analyse[2] and [one[0] for one in merge[2]] == [f"no {one}" for one in analyse[2]]
    assert judge.rubric == ("a", "b") and found["bad"] == 0.4 and found["changed"] == 1


def test_only_proposals_within_the_word_budget_are_merged():
    meta = Scripted()
    judge = made(meta=meta, interval=1, samples=3, words=10)  # a proposal has 5 words
    judge.learn(batch(judge, "b", "d", "f"), step=0)
    assert len(meta.calls[-1][2]) == 2


def test_without_a_merged_rubric_the_present_one_stays_as_a_version():
    judge = made(meta=Scripted(merged=()), interval=1)
    assert judge.learn(batch(judge, "b"), step=0)["changed"] == 0
    assert judge.versions == [FIRST_RUBRIC, FIRST_RUBRIC]


def test_unscored_rollouts_are_no_samples():
    meta = Scripted()
    judge = made(meta=meta, interval=1)
    (rated,) = batch(judge, "b", "d")
    rated.scores.channels["judged"][0] = np.nan
    judge.learn([rated], step=0)
    assert meta.calls[0][2] == ["d"]


def test_a_copy_from_the_state_goes_on_as_the_original():
    original, copy = made(interval=2, samples=2), made(interval=2, samples=2)
    for step in range(3):
        original.learn(batch(original, "bbdf", "bdfa", "bd"), step=step)
    copy.load_state_dict(json.loads(json.dumps(original.state_dict())))
    for step in range(3, 7):
        lines = ("bbdf", "bdfa", "dd")
        assert original.learn(batch(original, *lines), step=step) == copy.learn(batch(copy, *lines), step=step)
    assert copy.versions == original.versions and len(copy.versions) == 4


def test_a_state_without_versions_is_refused():
    with pytest.raises(CheckpointError, match="no version of the rubric"):
        made().load_state_dict({})


@pytest.mark.parametrize("options", [{"initial": ()}, {"interval": -1}, {"samples": 0}, {"words": 0}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(InputError, match="give one item or more, an interval from 0"):
        made(**options)


@pytest.mark.parametrize("seed", range(5))
def test_samples_are_chosen_by_seed_and_step(seed):
    samples = [RubricSample(TASK, text, 0.0) for text in "abcdef"]
    bad = [text in "ce" for text in "abcdef"]
    chosen = choose_samples(samples, bad, count=4, seed=seed, step=3)
    assert {one.text for one in chosen[:2]} == {"c", "e"} and len({one.text for one in chosen}) == 4
    assert choose_samples(samples, bad, count=4, seed=seed, step=3) == chosen
    assert choose_samples(samples, bad, count=9, seed=seed, step=3)[:4] == chosen


def test_the_correlation_is_of_finite_pairs():
    """Of 0, 1, 2 and 0, 1, 1: covariance 1/3, variances 2/3 and 2/9, so r = sqrt(3) / 2."""
    first = np.array([0, np.nan, 1, 2, 5])
    second = np.array([0, 9, 1, 1, np.nan])
    assert score_correlation(first, second) == pytest.approx(3**0.5 / 2, abs=1e-12)
    assert score_correlation(np.full(2, np.nan), np.arange(2.0)) == score_correlation(np.ones(3), np.arange(3.0)) == 0


def test_the_metric_is_the_correlation_of_both_scores():
    judge = made(interval=0)
    assert judge.learn(batch(judge, "b", "bd", "bdf", quality=[1, 2, 3]), step=0)["correlation"] == pytest.approx(1)
    assert judge.learn(batch(judge, "b", "bbb", quality=[1, 0]), step=0)["correlation"] == pytest.approx(-1)
    assert judge.learn([], step=0)["correlation"] == 0
