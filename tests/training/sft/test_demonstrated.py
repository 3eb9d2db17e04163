from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("reasoning_gym")

from handaxe.core.errors import InputError
from handaxe.curricula.few_tasks import few_tasks
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.rollouts.linear import linear
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.context import make_site
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.gym import gym
from handaxe.worlds.world import DemonstrationNoise, World


@pytest.fixture(scope="module")
def site():
    policy = load("tiny")
    return make_site(engine=LocalEngine(policy.model), format=policy.format)


def test_the_expert_is_shown_and_what_it_says_is_learnt(site):
    world = arithmetic()
    shown = demonstrated(world=world, count=12)(site)
    assert len(shown) == 12
    for rated, task in zip(shown, world.tasks("train", 12, 0), strict=True):
        assert rated.group.task == task and world.correct(rated.group).outcome[0] == 1
        assert np.array_equal(rated.advantages.tokens[0][0], rated.group[0].sequences[0].mask)


def test_the_same_seed_says_the_same(site):
    def ids(**options):
        return [
            one.group[0].sequences[0].ids.tolist() for one in demonstrated(world=arithmetic(), count=4, **options)(site)
        ]

    assert ids() == ids() != ids(seed=1)


def test_demonstrated_applies_noise_and_selects_tasks(site):
    lazy = demonstrated(world=arithmetic(easy=0.0), count=8, noise=DemonstrationNoise(call_rate=0.0))(site)
    assert not any(one.group[0].calls for one in lazy)
    two = [one.id for one in arithmetic().tasks("train", 2, 0)]
    chosen = demonstrated(world=arithmetic(), count=8, where=lambda task: task.id in two)(site)
    assert [one.group.task.id for one in chosen] == two * 4
    hard = demonstrated(world=arithmetic(), count=8, where=lambda task: task.metadata["difficulty"] == "hard")(site)
    every = arithmetic().tasks("train", 64, 0)
    assert [one.group.task for one in hard] == [one for one in every if one.metadata["difficulty"] == "hard"][:8]
    with pytest.raises(InputError, match="of 4096 training tasks of arithmetic there is none such"):
        demonstrated(world=arithmetic(), count=8, where=lambda task: False)(site)


def test_so_many_tokens_and_no_conversation_more(site):
    whole = [one.group[0].num_tokens for one in demonstrated(world=arithmetic(), count=6)(site)]
    for number in (1, 3, 6):
        for tokens in (sum(whole[: number - 1]) + 1, sum(whole[:number])):
            assert len(demonstrated(world=arithmetic(), count=6, tokens=tokens)(site)) == number
    with pytest.raises(InputError, match=f"6 conversations have {sum(whole)} tokens and not {sum(whole) + 1}"):
        demonstrated(world=arithmetic(), count=6, tokens=sum(whole) + 1)(site)


def test_what_does_not_fit_is_left_out_where_asked_for(site):
    world = gym(names=("calendar_arithmetic", "products"))
    lengths = [len(one.group[0].sequences[0]) for one in demonstrated(world=world, count=12)(site)]
    short = site._replace(engine=Room(sorted(lengths)[5]))
    with pytest.raises(InputError, match="does not fit"):
        demonstrated(world=world, count=12)(short)
    kept = demonstrated(world=world, count=12, fitting=True)(short)
    assert len(kept) == 12 and max(len(one.group[0].sequences[0]) for one in kept) <= short.engine.max_length
    with pytest.raises(InputError, match="none of 12 tasks fits into 5 tokens"):
        demonstrated(world=world, count=12, fitting=True)(site._replace(engine=Room(5)))


def test_what_fits_is_seen_in_conversations_played_as_the_world_plays(site):
    turns = []

    def plays(most):
        turns.append(most)
        return linear(max_turns=most)

    demonstrated(world=replace(arithmetic(), rollout=plays), count=3, fitting=True)(site)
    assert len(turns) == 1 + 3, "once for what fits, and once a conversation"


class Room:
    def __init__(self, tokens):
        self.max_length = tokens


def test_demonstrated_refuses_no_conversations_and_a_world_without_expert():
    with pytest.raises(InputError, match="0 conversations"):
        demonstrated(world=arithmetic(), count=0)
    world = arithmetic()
    with pytest.raises(InputError, match="no 'expert'"):
        demonstrated(world=World(name="bare", tasks=world.tasks, env=world.env, correct=world.correct), count=1)


def test_of_a_run_its_own_first_tasks_are_shown_once_each(site):
    world = arithmetic()
    own = site._replace(
        env=world.env(world.tools), tasks=few_tasks(count=6)(world.tasks("train", 40, 0), site.seed), seed=3
    )
    said = demonstrated(world=world, count=6, of_run=True)(own)
    assert {one.group.task.id for one in said} == {task.id for task in world.tasks("train", 6, 0)} and len(said) == 6
