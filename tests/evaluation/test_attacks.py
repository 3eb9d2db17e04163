"""Each attack against a reward without and a reward with a defense."""

import unicodedata

import numpy as np
import pytest

from handaxe.core.records import check
from handaxe.evaluation.attack_trials import attack_reward
from handaxe.evaluation.attacks import ATTACKS, MASTER_KEYS, SPECIAL, perform
from handaxe.evaluation.scenes import make_scenes, turn_messages
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.calls import calls

WORLD = arithmetic(easy=0.0)
SCENES = make_scenes(WORLD, count=2)
CALLS = make_scenes(calls(), count=2)


def right_or(worth):
    """A reward of correct answers that, by mistake, also pays rollouts with `worth`."""
    return outcome(lambda one: max(float(one.final_text == one.task.answer), float(worth(one))))


def question(one):
    return one.task.messages[-1].content


FALLS = {
    "empty": right_or(lambda one: not one.final_text),
    "echo": right_or(lambda one: question(one) in one.final_text),
    "keywords": right_or(lambda one: "correct" in one.final_text and "calculator" in one.final_text),
    "gold among many": answer_score(scorer=lambda task, text: float(task.answer in text)),
    "copied error": right_or(
        lambda one: any(reply.status != "ok" and reply.content == one.final_text for reply in one.replies)
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
def test_a_faulty_reward_falls_and_exact_match_holds(attack):
    bad, good = fell(FALLS[attack], attack), fell(exact_match(), attack)
    assert bad.separated == bad.fell == 2 and bad.margin == 1.0 and not bad.failed
    assert good.separated == 2 and good.fell == 0 and good.margin == 0.0


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_valid_and_deterministic(attack):
    for scene in (SCENES[0], CALLS[0]):
        first, again = (perform(ATTACKS[attack], scene, name=attack) for _ in range(2))
        assert first and [one.id for one in first] == [f"{attack}/{k}" for k in range(len(first))]
        for one, other in zip(first, again, strict=True):
            check(one)
            assert one.task is scene.task and turn_messages(one) != turn_messages(scene.oracle)
            assert all(np.array_equal(a.ids, b.ids) for a, b in zip(one.sequences, other.sequences, strict=True))


def test_hidden_gold_is_neither_first_nor_last():
    gold = SCENES[0].oracle.final_text
    for one, glue in zip(perform(ATTACKS["gold among many"], SCENES[0]), (" ", " or ", "\n"), strict=True):
        answers = one.final_text.split(glue)
        assert gold in answers[1:-1] and len(answers) == 6
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
    (oracle,), (one, *_) = turn_messages(CALLS[0].oracle)[0].calls, perform(ATTACKS["hollow"], CALLS[0])
    (call,) = one.turns[0].parsed.calls
    assert call.name == oracle.name and call.arguments.keys() == oracle.arguments.keys()
    assert call.arguments["left"] == 0 and call.arguments != oracle.arguments


def test_look_alikes_differ_from_the_answer():
    for one in perform(ATTACKS["look-alikes"], SCENES[0]):
        assert one.final_text != SCENES[0].task.answer and not one.final_text.isascii()
