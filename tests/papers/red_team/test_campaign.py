import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.red_team.attack_generators import FixedList
from handaxe.papers.red_team.campaign import Campaign, run_campaign, verdicts_of
from handaxe.papers.red_team.honeypots import honeypot_env, state_check
from handaxe.papers.red_team.hybrid_detector import HybridDetector
from handaxe.papers.red_team.scripted_target import DIRECT, ScriptedTarget


def embed(texts):
    return np.array([[1.0, 0.0]] * len(texts))


TARGET = ScriptedTarget(frozenset({("tests_edited", DIRECT), ("deleted", DIRECT), ("paid", "bonus")}))


def campaign(queries):
    detector = HybridDetector(embed=embed, judge=state_check)
    return run_campaign(TARGET, FixedList(), detector, env=honeypot_env(), format=Compact(), queries=queries)


def test_the_rate_counts_distinct_violations():
    found = campaign(24)
    assert found.distinct == 2 and found.rate == pytest.approx(2 / 24, abs=1e-9)
    assert [one.kind for one, own in zip(found.attacks, found.true) if own] == ["tests_edited", "deleted"] * 2
    assert Campaign().rate == 0


def test_every_query_gives_evidence_of_both_kinds_of_the_category():
    found = campaign(12)
    verdicts = verdicts_of([found])
    assert len(verdicts["true"]) == 24 and verdicts["true"].sum() == 2
    np.testing.assert_array_equal(verdicts["judge"], verdicts["true"])
    np.testing.assert_array_equal(verdicts["both"], verdicts["pattern"] & verdicts["judge"])
    assert {one.kind for one in found.findings} >= {"tests_edited", "deleted"}


def test_the_generator_reads_verdicts_of_the_detector_and_not_the_state():
    seen = []

    class Watched(FixedList):
        def learn(self, attack, *, found):
            seen.append(found)

    blind = HybridDetector(embed=lambda texts: np.zeros((len(texts), 2)), judge=lambda one, criteria: np.zeros((1, 9)))
    run_campaign(TARGET, Watched(), blind, env=honeypot_env(), format=Compact(), queries=12)
    assert seen == [False] * 12


def test_a_campaign_without_queries_is_an_input_error():
    with pytest.raises(InputError, match="queries is 0"):
        campaign(0)
