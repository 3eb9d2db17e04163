import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Pair, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.crome.augmented_pairs import augment, unsure_pairs
from handaxe.training.sft.scripted import trajectory_from_messages

TASK = Task("t", (Message("user", "3*4 ="),), "12")
OTHERS = [Task(f"o{n}", (Message("user", f"{n}+70 ="),), str(n + 70)) for n in range(3)]


def answer(text):
    return trajectory_from_messages(Compact(), (*TASK.messages, Message("assistant", text)), task=TASK, id=f"t/{text}")


PAIR = Pair(answer("12"), answer("Well, it is 15"))


def test_augmentations_by_hand():
    found = augment([PAIR], [TASK, *OTHERS], format=Compact())
    degraded, upgraded = found.causal
    assert degraded.chosen.final_text == "12" and degraded.rejected.final_text != "12"
    assert len(degraded.rejected.final_text) == 2 and degraded.strength == 1
    assert (upgraded.chosen.final_text, upgraded.rejected.final_text) == ("Well, it is 12", "Well, it is 15")
    (tie,) = found.neutral
    assert tie.strength == 0 and tie.chosen.task in OTHERS and tie.chosen.task == tie.rejected.task
    assert [tie.chosen.final_text, tie.rejected.final_text] == ["12", "Well, it is 15"]


def test_the_style_stays_within_each_causal_pair():
    for pair in augment([PAIR, Pair(answer("Well, it is 12"), answer("19"))], OTHERS, format=Compact()).causal:
        assert pair.chosen.final_text.startswith("Well") == pair.rejected.final_text.startswith("Well")


def test_equal_seeds_are_equal_and_another_question_is_needed():
    texts = [
        [one.rejected.final_text for one in augment([PAIR], OTHERS, format=Compact(), seed=3).causal] for _ in "ab"
    ]
    assert texts[0] == texts[1]
    with pytest.raises(InputError, match="another question"):
        augment([PAIR], [TASK], format=Compact())


class Fixed:
    def __init__(self, *chances):
        self.chances = chances

    def compare(self, pairs):
        return np.array(self.chances[: len(pairs)])


def test_the_baseline_keeps_pairs_that_are_wrong_or_unsure():
    pairs = [PAIR._replace(strength=m) for m in (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)]
    kept = unsure_pairs(pairs, Fixed(0.7, 0.9, 0.1, 0.65, 0.55, 0.3), most=0.8)
    assert [one.strength for one in kept] == [1, 1, 0, 0]
    assert unsure_pairs([], Fixed()) == []
    with pytest.raises(InputError, match="above 0.5"):
        unsure_pairs(pairs, Fixed(), most=0.5)
