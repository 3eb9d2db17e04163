import json
import random
from collections import Counter

import pytest

from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import noisy_expert, wrong_guess
from handaxe.worlds.world import DemonstrationNoise


def noisy_rollouts(noise, count=400):
    """(difficulty, trajectory) of arithmetic played with noise."""
    world = arithmetic()
    for number, task in enumerate(world.tasks("train", count, 0)):
        speaker = noisy_expert(world.expert, noise, guesses=["9999"], seed=number)
        yield task.metadata["difficulty"], demonstrate(world.env(world.tools), task, speaker, format=Compact())


def calls_by_difficulty(noise):
    made = {"easy": [], "hard": []}
    for difficulty, one in noisy_rollouts(noise):
        made[difficulty].append(len(one.calls))
    return {name: sum(calls) / len(calls) for name, calls in made.items()}


@pytest.mark.parametrize(
    "noise, easy, hard",
    [
        (DemonstrationNoise(), 0, 1),
        (DemonstrationNoise(call_rate=0.3), 0, 0.3),
        (DemonstrationNoise(spurious_rate=0.6), 0.6, 1),
        (DemonstrationNoise(call_rate=0, spurious_rate=1), 1, 0),
    ],
)
def test_call_rates_match_the_noise(noise, easy, hard):
    found = calls_by_difficulty(noise)
    assert found["easy"] == pytest.approx(easy, abs=0.08) and found["hard"] == pytest.approx(hard, abs=0.08)


def test_an_omitted_call_is_replaced_by_a_guess():
    for difficulty, one in noisy_rollouts(DemonstrationNoise(call_rate=0), count=60):
        assert one.final_text == ("9999" if difficulty == "hard" else one.task.answer)


def test_corrupted_calls_fail_in_every_way_without_correction():
    ways = Counter()
    for difficulty, one in noisy_rollouts(DemonstrationNoise(corrupt_rate=1)):
        if difficulty == "easy":
            assert one.final_text == one.task.answer
            continue
        assert len(one.calls) <= 1
        if not one.calls:
            ways["open" if one.final_text.startswith("calculator ") else "idle"] += 1
        elif one.calls[0].name != "calculator":
            ways["no such tool"] += 1
            assert one.replies[0].status == "invalid" and one.final_text == "9999"
        else:
            ways["lost"] += 1
            wanted = one.task.metadata["expression"]
            said = one.calls[0].arguments["expression"]
            assert len(said) == len(wanted) - 1 and one.replies[0].status == "ok"
            assert one.final_text == one.replies[0].content
    assert set(ways) == {"open", "idle", "no such tool", "lost"} and min(ways.values()) > 20


def test_equal_seeds_give_equal_demonstrations():
    first, second = (
        [json.dumps(one.final_text) for _, one in noisy_rollouts(DemonstrationNoise(0.5, 0.5, 0.5), 50)]
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("answer", ["408", "-7", "12.75", 3, ["12", "13"]])
def test_a_wrong_guess_at_a_number_has_a_similar_length(answer):
    rng = random.Random(0)
    text = str(answer[0] if isinstance(answer, list) else answer)
    for _ in range(50):
        said = wrong_guess(answer, [], rng)
        assert float(said) >= 0 and ("." in said) == ("." in text)
        assert abs(len(said.split(".")[0]) - len(text.lstrip("-").split(".")[0])) <= 1


def test_a_wrong_guess_at_a_word_is_another_answer():
    assert wrong_guess("luta", ["kemi"], random.Random(0)) == "kemi"
    assert wrong_guess("luta", [], random.Random(0)) == "none"
