from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Group, RatedGroup
from handaxe.papers.archer.utterance_critic import Transition, bag_of_words, utterance_critic
from handaxe.testing.make_records import make_rated, make_scores, make_task, make_trajectory
from handaxe.testing.mdp import StopOrGo

CONTRACT = [{}, {"warm_up": 0, "hidden": 8}]
LAB = "gives 0 before training in a run"
TASK = make_task(question="start")
STATES = ("start", "start go at1", "start go at1 go at2")


def attempt(actions, *, id, own=None):
    """Goes on or stops, and is told where it is then; `own`: begins in a recorded one before that turn."""
    texts = [("stop", "go")[one] for one in actions]
    one = make_trajectory(texts=texts, replies=[[f"at{k + 1}"] for k in range(len(texts))], task=TASK, id=id)
    branch = None if own is None else Branch("old", one.turns[own].sequence, one.turns[own].start)
    return replace(one, branch_of=branch)


def rated(attempts, outcomes):
    scores = make_scores(np.zeros(len(attempts)))
    scores = replace(scores, channels={"correct": np.array(outcomes, float)})
    return make_rated(group=Group(TASK, tuple(attempts)), scores=scores)


def one_hot(text):
    known = [*STATES, "go", "stop", ""]
    return np.eye(len(known))[known.index(text.strip())]


def say(critic, heads, **values):
    """Let heads say one value whatever they read."""
    with torch.no_grad():
        for name, value in values.items():
            for parameter in heads[name].parameters():
                parameter.zero_()
            heads[name][-1].bias.fill_(value)


def test_utterance_critic_matches_its_example():
    critic = utterance_critic(embed=one_hot, warm_up=0)
    say(critic, critic._own, q1=0.6, q2=0.5, v1=0.3, v2=0.4)
    say(critic, critic._target, v1=0.5, v2=0.5)
    assert critic.advantage([("start", "go")]) == pytest.approx([0.2])
    stored = [Transition("start", "go", 0.0, STATES[1]), Transition("start", "stop", 1.0, None)]
    np.testing.assert_allclose(critic.q_targets(stored), [[0.45, 0.45], [1, 1]])
    steps = critic.score_steps(Group(TASK, (attempt([1, 0], id="a"), attempt([0], id="b"))))
    assert [own.tolist() for own in steps] == [pytest.approx([0.2, 0.2]), pytest.approx([0.2])]


def test_bag_of_words_counts_words_and_pairs():
    embed = bag_of_words(size=4096)
    assert embed("big yes").sum() == 3 and embed("").sum() == 0
    assert not np.array_equal(embed("big yes old no"), embed("big no old yes"))
    np.testing.assert_array_equal(embed("Big yes"), embed("big  yes!"))


def test_scores_are_0_during_warm_up():
    critic, group = utterance_critic(embed=one_hot, warm_up=2, epochs=1), rated([attempt([0], id="a")], [1.0])
    for step in range(2):
        assert not np.any(critic.score_steps(group.group)[0]) and np.any(critic.advantage([("start", "stop")]))
        critic.learn([group], step=step)
    assert np.any(critic.score_steps(group.group)[0])


def test_v_learns_from_fresh_turns_and_q_from_stored_ones():
    """The buffer is of an old policy that goes on; the policy of now stops at the same state."""
    critic = utterance_critic(embed=one_hot, epochs=3)
    critic.learn([rated([attempt([1, 0], id="old")], [1.0])], step=0)
    stored = list(critic.stored)
    assert stored == [Transition("start", "go", 0.0, STATES[1]), Transition(STATES[1], "stop", 1.0, None)]
    seen = []
    critic.v_targets, inner = lambda fresh: seen.append(list(fresh)) or inner(fresh), critic.v_targets
    critic.learn([rated([attempt([0], id="now", own=0)], [0.0])], step=1)
    assert critic.stored == stored, "what begins in a recorded attempt is not stored, and the buffer is kept"
    assert {pair for fresh in seen for pair in fresh} == {("start", "stop")}
    before, after = (inner([("start", action)]) for action in ("go", "stop"))
    assert not torch.allclose(before, after)


def test_target_networks_follow_by_polyak_averaging():
    critic = utterance_critic(embed=one_hot, epochs=1, polyak=0.25, learning_rate=0.01)
    before = deepcopy(critic.state_dict())
    critic.learn([rated([attempt([1, 0], id="a")], [1.0])], step=0)
    after = critic.state_dict()
    for name in before["own"]:
        assert not np.array_equal(before["own"][name], after["own"][name]) or not before["own"][name].any()
        wanted = 0.75 * before["target"][name] + 0.25 * after["own"][name]
        np.testing.assert_allclose(after["target"][name], wanted, rtol=1e-12)


@pytest.mark.slow
def test_q_of_the_present_policy_is_learned_from_turns_of_an_older_one():
    """On the exact world, whose old policy tossed a coin; the one of now goes on by 3/4, 1/2 and 1/4."""
    goes, gamma = (0.75, 0.5, 0.25), 0.9
    world = StopOrGo(logits=tuple(np.log(p / (1 - p)) for p in goes), outcome=(0.2, 0.9, -0.5, 1.0))
    critic = utterance_critic(embed=one_hot, gamma=gamma, hidden=16, polyak=0.3, learning_rate=0.03, epochs=30)
    old = [attempt(world.actions(i), id=f"old/{i}") for i in range(4)]
    critic.learn([rated(old, world.outcome)], step=0)
    fresh = [
        attempt([*[1] * k, int(n < 4 * goes[k])], id=f"{k}/{n}", own=k) for k in range(3) for n in range(4)
    ]  # four at each state, as often this and that as the policy of now does
    for step in range(1, 11):
        critic.learn([rated(fresh, np.zeros(12))], step=step)
    value, wanted = 0.0, {}
    for k in (2, 1, 0):
        on = world.outcome[3] if k == 2 else gamma * value
        wanted |= {(STATES[k], "go"): on, (STATES[k], "stop"): world.outcome[k]}
        value = goes[k] * on + (1 - goes[k]) * world.outcome[k]
    with torch.no_grad():
        found = critic.q(list(wanted)).numpy()
    np.testing.assert_allclose(found, np.array(list(wanted.values()))[:, None].repeat(2, 1), atol=0.06)


def test_the_oldest_turns_leave_and_unscored_rollouts_are_not_stored():
    critic = utterance_critic(embed=one_hot, epochs=1, memory=3)
    critic.learn([rated([attempt([1, 0], id="a"), attempt([0], id="b")], [1.0, np.nan])], step=0)
    assert len(critic.stored) == 2
    found = critic.learn([rated([attempt([1, 1, 0], id="c")], [0.5])], step=1)
    assert [one.reward for one in critic.stored] == [0.0, 0.0, 0.5] and found["stored"] == 3


def test_utterance_critic_resumes_from_its_state():
    one, other = (utterance_critic(embed=one_hot, epochs=2, warm_up=1, seed=seed) for seed in (0, 0))
    groups = [rated([attempt([1, 0], id="a"), attempt([0], id="b")], [1.0, 0.0])]
    one.learn(groups, step=0)
    other.load_state_dict(deepcopy(one.state_dict()))
    assert one.learn(groups, step=1) == other.learn(groups, step=1)
    np.testing.assert_equal(one.state_dict(), other.state_dict())


def test_utterance_critic_rejects_invalid_arguments():
    for wrong in ({"gamma": 1.1}, {"polyak": 0}, {"warm_up": -1}, {"hidden": 0}, {"memory": 0}):
        with pytest.raises(InputError):
            utterance_critic(**wrong)
    bare = make_rated(group=Group(TASK, (attempt([0], id="a"),)), scores=make_scores([1.0]))
    assert isinstance(bare, RatedGroup)
    with pytest.raises(InputError, match="no channel 'correct'"):
        utterance_critic(embed=one_hot).learn([bare], step=0)
