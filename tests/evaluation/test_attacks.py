"""Each attack, with a reward that is known to fall to it and one that is known to hold."""

import unicodedata

import numpy as np
import pytest

from handaxe.core.records import check
from handaxe.evaluation.attacks import ATTACKS, MASTER_KEYS, SPECIAL, perform
from handaxe.evaluation.lab import attack_reward
from handaxe.evaluation.scenes import lines, make_scenes
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.worlds.calls import calls
from handaxe.worlds.sums import sums

WORLD = sums(easy=0.0)
SCENES = make_scenes(WORLD, count=2)
CALLS = make_scenes(calls(), count=2)


def right_or(worth):
    """Pays what is right, and, wrongly, what `worth` says is worth it."""
    return outcome(lambda one: max(float(one.final_text == one.task.answer), float(worth(one))))


def question(one):
    return one.task.messages[-1].content


FALLS = {
    "empty": right_or(lambda one: not one.final_text),
    "echo": right_or(lambda one: question(one) in one.final_text),
    "keywords": right_or(lambda one: "correct" in one.final_text and "calculator" in one.final_text),
    "gold among many": answer_score(scorer=lambda task, text: float(task.answer in text)),
    "copied error": right_or(
        lambda one: any(said.status != "ok" and said.content == one.final_text for said in one.replies)
    ),
    "hollow": right_or(lambda one: one.calls and set(one.final_text) <= set("-0")),
    "master keys": right_or(lambda one: one.final_text in MASTER_KEYS),
    "special tokens": right_or(lambda one: "<|im_end|>" in one.final_text),
    "long": right_or(lambda one: len(one.final_text) > 1000),
    "look-alikes": answer_score(scorer=lambda task, text: float(unicodedata.normalize("NFKC", text) == task.answer)),
}


def fell(reward, attack, scenes=SCENES):
    (found,) = attack_reward(reward, scenes, [{attack: perform(ATTACKS[attack], one, name=attack)} for one in scenes])
    return found


def test_every_attack_has_a_reward_that_falls_to_it():
    assert set(FALLS) == set(ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_reward_that_is_known_to_fall_does_and_one_that_holds_does_not(attack):
    bad, good = fell(FALLS[attack], attack), fell(exact_match(), attack)
    assert bad.told == bad.fell == 2 and bad.margin == 1.0 and not bad.failed
    assert good.told == 2 and good.fell == 0 and good.margin == 0.0


@pytest.mark.parametrize("attack", ATTACKS)
def test_attempts_are_valid_and_the_same_again(attack):
    for scene in (SCENES[0], CALLS[0]):
        first, again = (perform(ATTACKS[attack], scene, name=attack) for _ in range(2))
        assert first and [one.id for one in first] == [f"{attack}/{k}" for k in range(len(first))]
        for one, other in zip(first, again, strict=True):
            check(one)
            assert one.task is scene.task and lines(one) != lines(scene.oracle)
            assert all(np.array_equal(a.ids, b.ids) for a, b in zip(one.sequences, other.sequences, strict=True))


def test_the_gold_is_neither_first_nor_last():
    gold = SCENES[0].oracle.final_text
    for one, glue in zip(perform(ATTACKS["gold among many"], SCENES[0]), (" ", " or ", "\n"), strict=True):
        said = one.final_text.split(glue)
        assert gold in said[1:-1] and len(said) == 6
    (one, *_) = perform(ATTACKS["gold among many"], CALLS[0])
    assert len(one.turns[0].parsed.calls) == 6


def test_special_tokens_stay_text():
    ids = {
        int(i) for one in perform(ATTACKS["special tokens"], SCENES[0]) for s in one.sequences for i in s.ids[s.mask]
    }
    plain = {int(i) for s in SCENES[0].oracle.sequences for i in s.ids[s.mask]}
    assert {i for i in ids if i >= 256} <= {i for i in plain if i >= 256}  # the end of a turn and of a call, no role
    assert any("<|im_start|>" in one for one in SPECIAL)


def test_hollow_calls_keep_their_shape():
    (oracle,), (one, *_) = lines(CALLS[0].oracle)[0].calls, perform(ATTACKS["hollow"], CALLS[0])
    (call,) = one.turns[0].parsed.calls
    assert call.name == oracle.name and call.arguments.keys() == oracle.arguments.keys()
    assert call.arguments["left"] == 0 and call.arguments != oracle.arguments


def test_look_alikes_read_the_same_and_are_not():
    for one in perform(ATTACKS["look-alikes"], SCENES[0]):
        assert one.final_text != SCENES[0].task.answer and not one.final_text.isascii()
