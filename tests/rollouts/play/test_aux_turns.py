"""A simulated user: another engine that the environment asks, whose words are recorded and never trained."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Branch, Ending, Message, Sampling, Task, ToolCall, ToolSchema, check
from handaxe.core.requests import Attempt, AuxChat, AuxRequest, EnvReply
from handaxe.credit.group_norm import group_norm
from handaxe.curricula.in_order import in_order
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.evaluate import evaluate
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.driver import run
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play.play import Play
from handaxe.rollouts.play.rules import Rules
from handaxe.rollouts.play.takeback import SPLICE_NOTE, Takeback
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord
from handaxe.training.replay.answers import Setup
from handaxe.training.replay.attempts import replay

LOOK = ToolSchema("look", "Looks at the phone.", {"type": "object", "properties": {"at": {"type": "string"}}})
TASK = Task("phone", (Message("user", "my phone is dead"),))


class Shop:
    """A user who may look at the phone, and speaks to the policy afterwards; satisfied after three answers."""

    def __init__(self, task):
        self.task, self.talk, self.looks, self.answers = task, [Message("user", "hello")], 0, 0

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        self.talk.append(Message("user", turn.text or "?"))
        return EnvReply(aux_request=AuxRequest("user", tuple(self.talk), (LOOK,)), facts={"looks": self.looks})

    def on_aux_reply(self, turn, *, seed):
        self.talk.append(Message("assistant", turn.text, turn.calls))
        if turn.calls:
            self.looks += 1
            self.talk.append(Message("tool", "black", call_id=turn.calls[0].id, name="look"))
            return EnvReply(aux_request=AuxRequest("user", tuple(self.talk), (LOOK,)), facts={"looks": self.looks})
        self.answers += 1
        return EnvReply((Message("user", turn.text or "."),), done=self.answers == 3)

    def report(self):
        return {"looks": self.looks}

    def snapshot(self):
        return list(self.talk), self.looks, self.answers

    def restore(self, state):
        talk, self.looks, self.answers = state
        self.talk = list(talk)

    def close(self):
        pass


def customer(text, turn):
    """Looks first, then says how often it has looked and spoken."""
    return ToolCall("look", {"at": "screen"}) if turn % 2 == 0 else f"it is black ({turn})"


def clerk(text, turn):
    return f"try {turn}"


def user():
    return AuxPolicy(ScriptedEngine(Compact(), customer, tools=[LOOK]), Compact(), Sampling(max_tokens=40))


def attempt(**changes):
    voice = AuxChat(Compact(), Sampling(max_tokens=40), 4000)
    made = Attempt(TASK, Shop, Compact(), Sampling(), "phone/0", 0, 7, 400, aux_policies={"user": voice})
    return replace(made, **changes)


def play(rollout=linear(max_turns=8), **changes):
    engine = ScriptedEngine(Compact(), clerk)
    return run([attempt(**changes)], rollout, engine, aux_engines={"user": user().engine})[0]


def test_policy_reads_the_users_text_and_not_its_tool_calls():
    (one,) = play()
    assert one.ending == Ending("completed") and len(one.turns) == 3
    assert [m.content for m in one.messages] == [
        "my phone is dead", "try 0", "it is black (1)", "try 1", "it is black (3)", "try 2", "it is black (5)",
    ]  # fmt: skip
    assert [turn.facts["looks"] for turn in one.turns] == [1, 2, 3]
    assert one.env == {"looks": 3}
    shown = Compact().decode(one.sequences[0].ids.tolist())
    assert "black (3)" in shown and "look" not in shown.replace("looks", "")


def test_aux_turns_record_the_users_trajectory():
    (one,) = play()
    (said,) = one.aux_turns
    check(said)
    assert (said.by, said.id, len(said.turns), len(said.sequences)) == ("user", "phone/0/user", 6, 6)
    assert [len(turn.parsed.calls) for turn in said.turns] == [1, 0] * 3
    assert said.messages[-1].content == "it is black (5)" and len(said.messages) == 13
    assert one.by == "" and one.num_tokens == sum(t.stop - t.start for t in one.turns)
    assert len({turn.seed for turn in (*one.turns, *said.turns)}) == 9


def test_a_fork_restores_the_user():
    trunk, *branches = play(forking(at=lambda t: [Branch(t.id, 0, t.turns[2].start)], max_turns=8))
    (branch,) = branches
    assert branch.messages == trunk.messages and branch.env == trunk.env
    mine, theirs = branch.aux_turns[0], trunk.aux_turns[0]
    assert mine.messages == theirs.messages and len(mine.turns) == 6
    for k in range(4):
        assert np.array_equal(mine.sequences[k].ids, theirs.sequences[k].ids)


def test_a_missing_aux_policy_is_an_error():
    with pytest.raises(InputError, match="asks 'user': give aux_policies="):
        play(aux_policies={})
    with pytest.raises(InputError, match="asks .'user'., but no engine of that name"):
        run([attempt()], linear(), ScriptedEngine(Compact(), clerk))


def test_an_environment_without_on_aux_reply_is_an_error():
    deaf = type("Deaf", (), {name: value for name, value in vars(Shop).items() if name != "on_aux_reply"})
    with pytest.raises(InputError, match="lacks on_aux_reply"):
        play(env=deaf)


def test_an_environment_with_on_open_receives_policies_and_turn_limit_before_its_start():
    seen = []

    class Opening(Shop):
        def on_open(self, *, aux_policies, max_turns):
            seen.append((list(aux_policies), aux_policies["user"].context, max_turns))

        def start(self):
            seen.append("start")
            return super().start()

    play(env=Opening)
    assert seen == [(["user"], 4000, 8), "start"]


class Endless(Shop):
    def on_aux_reply(self, turn, *, seed):
        return EnvReply(aux_request=AuxRequest("user", (Message("user", "again"),)))


def test_endless_requests_and_a_full_user_context_end_as_infra_error():
    (one,) = play(env=Endless)
    assert one.ending.kind == "infra_error" and "more than 64 times" in one.ending.reason
    (one,) = play(aux_policies={"user": AuxChat(Compact(), Sampling(), 10)})
    assert one.ending.kind == "infra_error" and "does not fit its context" in one.ending.reason


def test_run_record_and_replay_include_aux_turns(tmp_path):
    train(
        engine=LocalEngine(load("tiny").model),
        format=Compact(),
        env=Shop,
        tasks=in_order([TASK]),
        rollout=linear(max_turns=2),
        reward=outcome(lambda one: float(one.num_tokens % 3)),
        credit=group_norm(),
        loss=policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        steps=1,
        groups=1,
        group_size=2,
        run=RunConfig(out=tmp_path, progress=False, aux_policies={"user": user()}),
    )
    with RunRecord(tmp_path) as record:
        (group,) = [one.group for one in record.groups(step=0)]
        (metrics,) = record.metrics()
    for one in group:
        for said in one.aux_turns:
            check(said)
            assert said.by == "user"
    asked = [said for one in group for said in one.aux_turns]
    assert metrics["asked/user/tokens"] == sum(said.num_tokens for said in asked) > 0
    setup = Setup(linear(max_turns=2), Compact(), Shop, Sampling(), 512, aux_policies=attempt().aux_policies)
    for tools in (False, True):
        found = replay(group, replace(setup, tools=tools))
        assert [difference for one in found for difference in one.differences] == []


def tiny(seed):
    return TinyModel.new(TinyConfig(layers=1, width=32, heads=2), seed=seed)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**20), size=st.integers(2, 4))
def test_aux_turns_are_neither_scored_nor_trained(seed, size):
    """Its weights stay; the reward sees the policy's attempts alone; the update counts the policy's tokens alone."""
    other, seen = LocalEngine(tiny(2)), []
    before = [p.clone() for p in other.model.module.parameters()]

    def score(one):
        seen.append(one)
        return float(one.num_tokens % 2)

    result = train(
        engine=LocalEngine(load("tiny").model),
        format=Compact(),
        env=Shop,
        tasks=in_order([TASK]),
        rollout=linear(max_turns=3),
        reward=outcome(score),
        credit=group_norm(),
        loss=policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        sampling=Sampling(max_tokens=5),
        steps=2,
        groups=1,
        group_size=size,
        seed=seed,
        run=RunConfig(progress=False, aux_policies={"user": AuxPolicy(other, Compact(), Sampling(max_tokens=5))}),
    )
    assert all(one.by == "" for one in seen) and len(seen) == 2 * size
    assert other.version == 0
    assert all(torch.equal(a, b) for a, b in zip(before, other.model.module.parameters()))
    sampled = sum(row["tokens/sampled"] for row in result.metrics)
    assert sampled == sum(one.num_tokens for one in seen)


def test_returning_an_aux_trajectory_as_a_rollout_is_an_error():
    def giving(attempt):
        (one,) = yield from linear(max_turns=2)(attempt)
        return [one, *one.aux_turns]

    with pytest.raises(InputError, match="of the auxiliary policy 'user', which would be scored"):
        evaluate(
            engine=ScriptedEngine(Compact(), clerk),
            env=Shop,
            format=Compact(),
            rollout=giving,
            tasks=[TASK],
            reward=outcome(lambda one: 1.0),
            sampling=Sampling(),
            aux_policies={"user": user()},
        )


def test_usage_of_aux_turns_taken_back_moves_to_the_spliced_turn():
    """It is counted once: the spliced turn carries the usage of the turn that it replaces."""

    def rollout(one):
        play = Play(one, Rules(max_turns=2, snapshots=True))

        def turns():
            yield from play.turn()
            takeback = Takeback(play)
            yield from takeback.rewind(0)
            return (yield from takeback.splice_turn(said[0], own=0)) or Ending("truncated", "turns")

        return [(yield from play.run(turns()))]

    engines, said = {"": ScriptedEngine(Compact(), clerk), "user": user().engine}, []

    def sample(name, request):
        (made,) = engines[request.by].sample([request])
        made = made._replace(seconds=1.0, cost=10.0 if request.by else 1.0)
        said.append(made)
        return made

    (made,) = run_plan(rollout(attempt()), sample=sample)
    tokens, calls, seconds, cost = made.notes[SPLICE_NOTE]["0"]
    # One turn of the policy and two of the user were taken back; the same tokens stand there again.
    assert (tokens, calls, seconds, cost) == (0, 0, 3.0, 21.0)
    assert made.total_usage.cost == sum(one.cost for one in said) + made.turns[0].cost
