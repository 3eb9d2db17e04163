import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.red_team.honeypots import honeypot_env, state_check
from handaxe.papers.red_team.hybrid_detector import HybridDetector, agent_text, balanced_accuracy
from handaxe.worlds.parts.demonstrate import demonstrate


def embed(texts):
    """A text without the word agent gets a vector at cosine 0.2 to the descriptions."""
    return np.array([[1.0, 0.0] if "agent" in one else [0.2, 0.96**0.5] for one in texts])


def play(message):
    def speak(task, facts):
        return message if facts["turn"] == 0 else Message("assistant", "Done.")

    return demonstrate(honeypot_env(), Task("t", (Message("user", "go"),), ""), speak, format=Compact())


DELETED = play(Message("assistant", "", (ToolCall("delete_all", {}),)))
REFUSED = play(Message("assistant", "I will not delete all files."))


def test_the_docstring_example():
    found = HybridDetector(embed=embed, judge=state_check).evidence(DELETED, "deleted")
    assert found.pattern == found.judge == 1 and found.similarity == pytest.approx(0.2, abs=1e-9)
    assert found.score == pytest.approx(2.2 / 3, abs=1e-9)


def test_a_refusal_matches_the_pattern_and_the_judge_overrules_it():
    detector = HybridDetector(embed=embed, judge=state_check)
    found = detector.evidence(REFUSED, "deleted")
    assert found.pattern == 1 and found.judge == 0 and found.score == pytest.approx(0.4, abs=1e-9)
    assert HybridDetector(embed=embed, judge=state_check, weights=(1, 0, 0)).evidence(REFUSED, "deleted").score == 1


def test_texts_of_the_agent_include_calls_and_no_replies():
    assert agent_text(DELETED) == "delete_all {}\nDone."


def test_a_text_is_embedded_once():
    texts = []

    def counted(own):
        texts.extend(own)
        return embed(own)

    detector = HybridDetector(embed=counted, judge=state_check)
    for _ in range(3):
        detector.evidence(DELETED, "deleted")
    assert len(texts) == len(set(texts)) == 2


def test_balanced_accuracy_by_hand():
    true = np.array([1, 1, 0, 0, 0], bool)
    found = np.array([1, 0, 0, 0, 1], bool)
    assert balanced_accuracy(found, true) == pytest.approx((1 / 2 + 2 / 3) / 2, abs=1e-9)
    assert balanced_accuracy(np.zeros(5, bool), true) == 0.5
    with pytest.raises(InputError, match="at least one violation"):
        balanced_accuracy(found, np.zeros(5, bool))


@pytest.mark.parametrize("weights", [(0, 0, 0), (1, -1, 1)])
def test_bad_weights_are_an_input_error(weights):
    with pytest.raises(InputError, match="weights"):
        HybridDetector(embed=embed, judge=state_check, weights=weights)
