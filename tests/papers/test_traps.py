"""What makes a recipe's reward or its claim an easy toy, looked for in each recipe of a paper about rewards."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("reasoning_gym")

from handaxe.commands.configure import parse_train
from handaxe.core.records import Ending, Group, Message
from handaxe.methods.build import make_method, make_world
from handaxe.methods.catalog import list_methods
from handaxe.methods.run_spec import spec_of_base
from handaxe.models.compact import CALL_END, Compact
from handaxe.ops.composite import Composite
from handaxe.ops.ragged import rewards_of
from handaxe.ops.returns import standardise
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.scoring import score_group
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import with_habit
from handaxe.worlds.world import DemonstrationNoise

EARLIER = {"artist", "artist_bfcl", "ftrl", "otc", "retool", "toolrl", "toolrl_scales"}
TEACHING = {"small_lm", "small_lm_tiny", "smart"}
"""They train on no reward."""
ABOUT_REWARDS = {
    "adareasoner",
    "artist",
    "artist_bfcl",
    "bleuberi",
    "calibrated",
    "calm",
    "chartmaster",
    "codedance",
    "confidence_dichotomy",
    "deepeyes",
    "deepeyes_v2",
    "deepsport",
    "ftrl",
    "gated",
    "geovista",
    "gui_g1",
    "gui_r1",
    "hybrid",
    "ikea",
    "longvt",
    "marag",
    "mindwatcher",
    "mixed_r1",
    "molact",
    "ophiuchus",
    "otc",
    "ppr",
    "prs",
    "reasoning_sql",
    "retool",
    "router_r1",
    "scribe",
    "small_lm",
    "small_lm_tiny",
    "smart",
    "tapo",
    "tgrl",
    "tiger",
    "tool_orchestra",
    "tool_star",
    "toolrl",
    "toolrl_scales",
    "v_toolrl",
}
ALSO = {"codedance_turns", "grpo_tcr", "prs_vspo", "recompose"}
LISTED = {one.name: one for one in list_methods() if one.name in ABOUT_REWARDS and one.name not in EARLIER} | {
    one.name: one for one in list_methods() if one.name in ALSO
}
PAYING = sorted(set(LISTED) - TEACHING)

SLOW = {"hybrid", "router_r1", "tool_orchestra"}
"""Of these one task is enough: their tools or rewards are models."""
EXCUSED = {
    "calibrated": {"brier"},
    "chartmaster": {"drew"},
    "codedance": {"steps", "whole/correct", "whole/bonus/worth/then", "whole/bonus/worth/otherwise"},
    "codedance_turns": {"steps"},
    "deepeyes": {"yes/always"},
    "geovista": {"leaks", "alignment"},
    "grpo_tcr": {"answer/then"},
    "mixed_r1": {"task/words/bleu"},
    "tapo": {"calls"},
    "tool_orchestra": {"format"},
}
"""Parts that weigh nothing unless an option says otherwise, that the credit or the selection reads, of which the mean
alone counts, that are numbers between which a gate chooses, or that others imply."""
MAY_TIE = {
    "calibrated": "an answer that does not say how sure it is earns the least, by the paper's rule",
    "calm": "sub-goals are paid beside the answer, by the paper's rule",
    "deepsport": "a call that is made again breaks the form, by the paper's rule",
    "longvt": "a wrong answer after a perfect look earns as much as a right one without a look, by the paper's weights",
    "prs": "a right answer without a call that worked does not count, by the paper's rule",
    "prs_vspo": "likewise",
    "tiger": "right calls are worth more than a bare answer, by the weights as they stand",
}
"""Where a wrong attempt in due form may earn as much as a right one, and why."""
UNBOUNDED = {
    ("router_r1", "cost"): "two recipes that both weigh the cost",
    ("recompose", "pass@1"): "a collapse, which has no level",
    ("prs", "pass@1"): "by the area, as the same figure at its end is bounded",
    ("prs_vspo", "training/loss/kl"): "a distance, which has no level",
    ("calm", "pass@1"): "it is about when a level is reached",
    ("confidence_dichotomy", "mcip"): "a finding about two tools, which removes nothing",
    ("grpo_tcr", "training/loss/entropy"): "an amount, which has no level",
    ("grpo_tcr", "pass@1"): "both sides train",
}
"""Claims without a bound on the vice, and why."""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


class Open(Compact):
    """Leaves its calls open."""

    def encode_turn(self, message, tools):
        return [one for one in super().encode_turn(message, tools) if one != CALL_END]


def attempts(world, task, others):
    """What a policy that is neither lost nor done might do: by habit, twice, what is right for another task, too long,
    not at all, in bad form, cut off."""
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
        env, rollout = world.env(world.tools), world.plays(16)
        return demonstrate(env, task, speaker, format=form, id=f"{task.id}/{name}", rollout=rollout)

    habits = DemonstrationNoise(needed=0.6, needless=0.4, clumsy=0.4)
    speakers = [with_habit(expert, habits, guesses=["10 20 30 40", "17"], seed=seed) for seed in range(3)]
    speakers += [instead(other) for other in others]
    speakers += [expert, twice, wrong, says(str(task.answer)), says("17"), says("no " * 20), says("")]
    formats = [Compact()] * len(speakers) + [Open()]
    for number, (speaker, form) in enumerate(zip([*speakers, unsure], formats, strict=True)):
        yield played(speaker, form, number)
    yield cut_off(played(expert, Compact(), "cut"))


def cut_off(one):
    """The attempt as if its last turn had been too long."""
    last = replace(one.turns[-1], finish="length")
    return replace(one, turns=(*one.turns[:-1], last), ending=Ending("truncated", "length"))


class Played:
    def __init__(self, name):
        chosen = parse_train(name, [], prog="handaxe train", also={})[0]
        world = make_world(chosen)
        self.method = make_method(chosen, world)
        tasks = world.tasks("train", 24, 0)
        kinds = {tuple(str(task.metadata.get(key)) for key in world.by): task for task in tasks}
        several = list({task.id: task for task in (*kinds.values(), *tasks[:2])}.values())[: 1 if name in SLOW else 4]
        groups = [Group(task, tuple(attempts(world, task, tasks[2:4]))) for task in several]
        self.groups = [scored(self.method.reward, group) for group in groups]
        if made_of_others(self.method.reward):
            for _, parts, key in list(leaves(self.method.reward)):
                parts[key] = remembered(parts[key])

    def advantages(self):
        """What siblings would be credited with; a reward of turns counts by its sum."""
        return [standardise(rewards_of(group, self.method.reward(group))) for group in self.groups]


def made_of_others(reward):
    return isinstance(reward, Composite) and reward.parts() is reward.parts()


def leaves(reward, path=""):
    """(path, mapping, key) of every part of a reward that is not made of others."""
    for name, part in reward.parts().items():
        here = f"{path}{name}"
        if made_of_others(part) and set(part.parts()) != {"picked"}:
            yield from leaves(part, f"{here}/")
        else:
            yield here, reward.parts(), name


def scored(reward, group):
    """The attempts of a group that can be scored."""
    settled, scores = score_group(reward, group)
    able = tuple(one for one, value in zip(settled, scores.outcome, strict=True) if not np.isnan(value))
    return replace(settled, trajectories=able)


def remembered(part):
    """The part, asked once of each group, which is kept so that no other group can get its id."""
    known = {}

    def asked(group):
        if id(group) not in known:
            known[id(group)] = group, part(group)
        return known[id(group)][1]

    return asked


def levelled(part):
    """The part, giving to all siblings what it gives on average, and nothing to a turn."""

    def same(group):
        scores = part(group)
        turns = None if scores.turns is None else tuple(np.zeros_like(values_N) for values_N in scores.turns)
        return replace(scores, outcome=np.full(len(group), np.mean(scores.outcome)), turns=turns)

    return same


def dead_parts(played):
    """The paths of the parts without which all attempts would be credited as they are."""
    whole, dead = played.advantages(), set()
    for path, parts, key in list(leaves(played.method.reward)):
        kept, parts[key] = parts[key], levelled(parts[key])
        if all(np.allclose(a, b, atol=1e-6) for a, b in zip(whole, played.advantages(), strict=True)):
            dead.add(path)
        parts[key] = kept
    return dead


@pytest.mark.parametrize("name", PAYING)
def test_no_part_is_dead_and_no_wrong_attempt_goes_before_a_right_one(name):
    played = Played(name)
    reward, world = played.method.reward, played.method.world
    assert any(np.ptp(own) > 1e-6 for own in played.advantages()), "attempts are all worth the same"
    if made_of_others(reward):
        excused = EXCUSED.get(name, set())
        of = {path: [one for one in excused if f"{path}/".startswith(f"{one}/")] for path in dead_parts(played)}
        assert {path for path, found in of.items() if not found} == set(), "these parts are dead"
        assert {one for found in of.values() for one in found} == excused, "what is excused is alive"
    ties = 0
    for group in played.groups:
        value_G, right_G = rewards_of(group, reward(group)), world.correct(group).outcome > 0.5
        formed_G = well_formed(arguments=True)(group).outcome > 0.5
        right, wrong = value_G[right_G & formed_G], value_G[~right_G & formed_G]
        ties += len(right) > 0 and len(wrong) > 0 and bool(right.min() <= wrong.max())
    assert not ties or name in MAY_TIE


@pytest.mark.parametrize("name", sorted(LISTED))
def test_a_claim_says_how_much_of_the_vice_its_baseline_must_show(name):
    for claim in LISTED[name].page.claims:
        bounded = (
            claim.baseline_must_exceed is not None or claim.baseline_must_not_exceed is not None or claim.over == "gain"
        )
        assert bounded != ((name, claim.metric) in UNBOUNDED) or (bounded and claim.over == "end"), claim.text


def test_what_is_listed_is_there():
    assert set(EXCUSED) | set(MAY_TIE) <= set(PAYING) and {name for name, _ in UNBOUNDED} <= set(LISTED)
    assert len(LISTED) >= 34


def test_parts_that_weigh_nothing_are_found():
    """The check itself: of a part that is 1 for all attempts, and of one without a weight."""
    played = Played("deepsport")
    right, same = played.method.world.correct, outcome(lambda one: 1.0)
    reward = weighted({"right": (1.0, right), "same": (1.0, same), "light": (0.0, well_formed())})
    played.method = replace(played.method, reward=reward)
    assert dead_parts(played) == {"same", "light"}


def test_spa_pays_what_an_attempt_comes_to_through_its_turns_and_not_once_more():
    chosen = parse_train("spa_rl", [], prog="handaxe train", also={})[0]
    world = make_world(chosen)
    parts = list(leaves(make_method(chosen, world).reward))
    assert sorted(path for path, _, _ in parts) == ["executed", "progress"]
    assert make_method(spec_of_base(chosen), world).reward is world.correct not in [own[key] for _, own, key in parts]
