"""Traps of methods whose papers are about rewards: dead parts of a reward, ties, claims without a bound.

The test of a method sets ABOUT_REWARDS and further constants, see `helpers.methods`.
"""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("reasoning_gym")

from helpers.methods import methods_with, own, slow_for_papers

from handaxe.commands.configure import parse_train
from handaxe.core.records import Ending, Group, Message
from handaxe.methods.build import make_method, make_world
from handaxe.methods.catalog import list_methods
from handaxe.models.chat_formats.compact import CALL_END, Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.ops.ragged import group_rewards
from handaxe.ops.returns import standardise
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.scoring import score_group
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import noisy_expert
from handaxe.worlds.world import DemonstrationNoise

LISTED = {one.name: one for one in list_methods() if own(one.name, "ABOUT_REWARDS")}
PATCHES = TinyImageProcessor(8)
FORMAT = Compact(PATCHES)
PAYING = sorted(name for name in LISTED if not own(name, "NO_REWARD"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


class Open(Compact):
    """Chat format without the end token of a call."""

    def encode_turn(self, message, tools):
        return [one for one in super().encode_turn(message, tools) if one != CALL_END]


def attempts(world, task, others):
    """Rollouts of an average policy: noisy, doubled turns, of another task, too long, empty, malformed, cut off."""
    expert = world.need("expert")

    def twice(task, facts):
        return expert(task, {**facts, "turn": facts["turn"] // 2})

    def wrong(task, facts):
        said = expert(task, facts)
        return said if said.calls else Message("assistant", "no")

    def unsure(task, facts):
        return expert(task, {**facts, "sure": False})

    def instead(other):
        return lambda task, facts: expert(other, facts)

    def says(text):
        return lambda task, facts: Message("assistant", text)

    def played(speaker, form, name):
        env, rollout = world.env(world.tools), world.make_rollout(16)
        return demonstrate(env, task, speaker, format=form, id=f"{task.id}/{name}", rollout=rollout)

    habits = DemonstrationNoise(call_rate=0.6, spurious_rate=0.4, corrupt_rate=0.4)
    speakers = [noisy_expert(expert, habits, guesses=["10 20 30 40", "17"], seed=seed) for seed in range(3)]
    speakers += [instead(other) for other in others]
    speakers += [expert, twice, wrong, says(str(task.answer)), says("17"), says("no " * 20), says("")]
    formats = [FORMAT] * len(speakers) + [Open(PATCHES)]
    for number, (speaker, form) in enumerate(zip([*speakers, unsure], formats, strict=True)):
        yield played(speaker, form, number)
    yield cut_off(played(expert, FORMAT, "cut"))


def cut_off(one):
    """The rollout with a last turn that reached the token limit."""
    last = replace(one.turns[-1], finish="length")
    return replace(one, turns=(*one.turns[:-1], last), ending=Ending("truncated", "length"))


class Played:
    def __init__(self, name):
        chosen = parse_train(name, [], prog="handaxe train", also={})[0]
        world = make_world(chosen)
        self.method = make_method(chosen, world)
        tasks = world.tasks("train", 24, 0)
        kinds = {tuple(str(task.metadata.get(key)) for key in world.breakdown): task for task in tasks}
        several = list({task.id: task for task in (*kinds.values(), *tasks[:2])}.values())[: own(name, "TRAP_TASKS", 4)]
        groups = [Group(task, tuple(attempts(world, task, tasks[2:4]))) for task in several]
        self.groups = [scored(self.method.reward, group) for group in groups]
        if made_of_others(self.method.reward):
            for _, parts, key in list(leaves(self.method.reward)):
                parts[key] = remembered(parts[key])

    def advantages(self):
        """Normalized total rewards of siblings."""
        return [standardise(group_rewards(group, self.method.reward(group))) for group in self.groups]


def made_of_others(reward):
    return isinstance(reward, StatefulComposite) and reward.parts() is reward.parts()


def leaves(reward, path=""):
    """(path, mapping, key) of every part of a reward that is not made of others."""
    for name, part in reward.parts().items():
        here = f"{path}{name}"
        if made_of_others(part) and set(part.parts()) != {"select_channel"}:
            yield from leaves(part, f"{here}/")
        else:
            yield here, reward.parts(), name


def scored(reward, group):
    """The group without rollouts that stay unscored."""
    settled, scores = score_group(reward, group)
    able = tuple(one for one, value in zip(settled, scores.outcome, strict=True) if not np.isnan(value))
    return replace(settled, trajectories=able)


def remembered(part):
    """The part, called once a group; groups are kept, so that ids stay unique."""
    known = {}

    def asked(group):
        if id(group) not in known:
            known[id(group)] = group, part(group)
        return known[id(group)][1]

    return asked


def levelled(part):
    """The part with its mean outcome for all siblings and zeros for turns."""

    def same(group):
        scores = part(group)
        turns = None if scores.turns is None else tuple(np.zeros_like(values_N) for values_N in scores.turns)
        return replace(scores, outcome=np.full(len(group), np.mean(scores.outcome)), turns=turns)

    return same


def dead_parts(played):
    """Paths of parts without effect on the advantages."""
    whole, dead = played.advantages(), set()
    for path, parts, key in list(leaves(played.method.reward)):
        kept, parts[key] = parts[key], levelled(parts[key])
        if all(np.allclose(a, b, atol=1e-6) for a, b in zip(whole, played.advantages(), strict=True)):
            dead.add(path)
        parts[key] = kept
    return dead


@pytest.mark.parametrize("name", slow_for_papers(PAYING))
def test_no_part_is_dead_and_no_wrong_rollout_outranks_a_correct_one(name):
    played = Played(name)
    reward, world = played.method.reward, played.method.world
    assert any(np.ptp(own) > 1e-6 for own in played.advantages()), "all rollouts have the same reward"
    if made_of_others(reward):
        excused = own(name, "DEAD_PARTS", set())
        of = {path: [one for one in excused if f"{path}/".startswith(f"{one}/")] for path in dead_parts(played)}
        assert {path for path, found in of.items() if not found} == set(), "these parts are dead"
        assert {one for found in of.values() for one in found} == excused, "these of DEAD_PARTS have an effect"
    ties = 0
    for group in played.groups:
        value_G, right_G = group_rewards(group, reward(group)), world.correct(group).outcome > 0.5
        formed_G = well_formed(arguments=True)(group).outcome > 0.5
        right, wrong = value_G[right_G & formed_G], value_G[~right_G & formed_G]
        ties += len(right) > 0 and len(wrong) > 0 and bool(right.min() <= wrong.max())
    assert not ties or own(name, "MAY_TIE")


@pytest.mark.parametrize("name", sorted(LISTED))
def test_every_claim_bounds_the_fault_of_its_baseline(name):
    for claim in LISTED[name].page.claims:
        bounded = (
            claim.baseline_must_exceed is not None or claim.baseline_must_not_exceed is not None or claim.over == "gain"
        )
        assert bounded != (claim.metric in own(name, "UNBOUNDED", {})) or (bounded and claim.over == "end"), claim.text


def test_constants_of_these_tests_come_with_about_rewards():
    assert {*methods_with("DEAD_PARTS"), *methods_with("MAY_TIE")} <= set(PAYING)
    assert set(methods_with("UNBOUNDED")) <= set(LISTED) and len(LISTED) >= 34


def test_dead_parts_finds_constant_and_weightless_parts():
    played = Played("deepsport")
    right, same = played.method.world.correct, outcome(lambda one: 1.0)
    reward = weighted({"right": (1.0, right), "same": (1.0, same), "light": (0.0, well_formed())})
    played.method = replace(played.method, reward=reward)
    assert dead_parts(played) == {"same", "light"}
