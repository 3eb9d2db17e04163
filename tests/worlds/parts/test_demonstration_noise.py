import json
import random
from collections import Counter

import pytest

from handaxe.models.compact import Compact
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import guess, with_habit
from handaxe.worlds.sums import sums
from handaxe.worlds.world import DemonstrationNoise


def attempts(habit, count=400):
    """(difficulty, trajectory) of sums played with a habit."""
    world = sums()
    for number, task in enumerate(world.tasks("train", count, 0)):
        speaker = with_habit(world.expert, habit, guesses=["9999"], seed=number)
        yield task.metadata["difficulty"], demonstrate(world.env(world.tools), task, speaker, format=Compact())


def calls_by_difficulty(habit):
    made = {"easy": [], "hard": []}
    for difficulty, one in attempts(habit):
        made[difficulty].append(len(one.calls))
    return {name: sum(calls) / len(calls) for name, calls in made.items()}


@pytest.mark.parametrize(
    "habit, easy, hard",
    [
        (DemonstrationNoise(), 0, 1),
        (DemonstrationNoise(needed=0.3), 0, 0.3),
        (DemonstrationNoise(needless=0.6), 0.6, 1),
        (DemonstrationNoise(needed=0, needless=1), 1, 0),
    ],
)
def test_shares_are_what_the_habit_says(habit, easy, hard):
    found = calls_by_difficulty(habit)
    assert found["easy"] == pytest.approx(easy, abs=0.08) and found["hard"] == pytest.approx(hard, abs=0.08)


def test_a_call_left_out_is_a_guess():
    for difficulty, one in attempts(DemonstrationNoise(needed=0), count=60):
        assert one.final_text == ("9999" if difficulty == "hard" else one.task.answer)


def test_clumsy_calls_go_wrong_in_every_way_and_are_not_mended():
    ways = Counter()
    for difficulty, one in attempts(DemonstrationNoise(clumsy=1)):
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


def test_the_same_seed_does_the_same():
    first, second = (
        [json.dumps(one.final_text) for _, one in attempts(DemonstrationNoise(0.5, 0.5, 0.5), 50)] for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("answer", ["408", "-7", "12.75", 3, ["12", "13"]])
def test_a_guess_at_a_number_is_a_number_of_that_kind(answer):
    rng = random.Random(0)
    text = str(answer[0] if isinstance(answer, list) else answer)
    for _ in range(50):
        said = guess(answer, [], rng)
        assert float(said) >= 0 and ("." in said) == ("." in text)
        assert abs(len(said.split(".")[0]) - len(text.lstrip("-").split(".")[0])) <= 1


def test_a_guess_at_a_word_is_the_answer_of_another():
    assert guess("luta", ["kemi"], random.Random(0)) == "kemi"
    assert guess("luta", [], random.Random(0)) == "none"
