"""A proposer's question is put to a solver: what became of it is noted, and the solver's attempts are only beside."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Ending, Group, Message, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt, AuxChat, Stopped
from handaxe.credit.group_norm import group_norm
from handaxe.curricula.in_order import in_order
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.seeds import derive_seed
from handaxe.papers.agent0.proposing import proposing
from handaxe.papers.agent0.votes import Proposal, read_proposal
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.driver import run
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord
from handaxe.training.replay.answers import Setup
from handaxe.training.replay.attempts import replay
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.context import make_site
from handaxe.training.stages.sources import scripted
from handaxe.training.stages.teach import teach

OPENING = Task("propose", (Message("user", "Ask."),))
ENV = tool_chat([calculator])
VOICE = AuxChat(Compact(), Sampling(max_tokens=40), 400)


def read(text):
    return Task(f"asked-{text}", (Message("user", f"{text}=?"),), "9") if "*" in text else None


def attempt(**changes):
    made = Attempt(
        OPENING, ENV, Compact(), Sampling(max_tokens=40), "propose/0", 0, 7, 400, aux_policies={"solver": VOICE}
    )
    return replace(made, **changes)


def solves(text, turn):
    """Calls for the product, and then answers."""
    return ToolCall("calculator", {"expression": "23*41"}) if turn == 0 else "943"


def engine(*said):
    return ScriptedEngine(Compact(), lambda text, turn: said[0], tools=[calculator.schema])


def solver():
    return ScriptedEngine(Compact(), solves, tools=[calculator.schema])


def play(rollout=None, *, says="23*41", by=None, **changes):
    rollout = rollout or proposing(read=read, solve=linear(max_turns=3), samples=4)
    (one,) = run([attempt(**changes)], rollout, engine(says), aux_engines={"solver": by or solver()})[0]
    return one


def test_the_solver_plays_whole_rollouts_with_tools():
    one = play()
    assert (one.ending, one.final_text, one.by, len(one.turns)) == (Ending("completed"), "23*41", "", 1)
    assert len(one.aux_turns) == 4
    for k, said in enumerate(one.aux_turns):
        check(said)
        assert (said.by, said.id, said.sample) == ("solver", f"propose/0/solver/{k}", k)
        assert said.seed == derive_seed(7, "solver", k)
        assert said.messages[0].content == "23*41=?" and said.task.answer is None
        assert [reply.content for reply in said.replies] == ["943"] and len(said.turns) == 2
    assert len({turn.seed for said in (one, *one.aux_turns) for turn in said.turns}) == 9
    assert one.num_tokens == sum(turn.stop - turn.start for turn in one.turns)


def numbered(answers):
    """Each attempt of the solver says the next of these answers."""
    return linear(max_turns=1), ScriptedEngine(Compact(), lambda text, turn: next(answers))


def test_proposing_matches_its_example():
    solve, by = numbered(iter(["943", "943", "", "94"]))
    one = play(proposing(read=read, solve=solve, samples=4, answer=lambda one: one.final_text), by=by)
    assert read_proposal(one) == Proposal("23*41", "943", 0.5, 0.0, 4, "9")


def test_calls_of_the_proposal_are_the_solvers():
    assert read_proposal(play()).calls == 1.0


@pytest.mark.parametrize("says", ["twice 41", "", ToolCall("calculator", {"expression": "2*3"}), "1*" + "2" * 60])
def test_unreadable_text_is_not_passed_to_the_solver(says):
    one = play(says=says)
    assert one.aux_turns == () and read_proposal(one) == Proposal()


def test_the_rollout_ends_as_infra_error_if_all_solver_rollouts_fail():
    def broken(task):
        raise InfrastructureError("no sandbox")

    one = play(proposing(read=read, solve=linear(), samples=3, env=broken))
    assert one.ending.kind == "infra_error" and "every rollout of 'solver' failed" in one.ending.reason
    assert [said.ending.kind for said in one.aux_turns] == ["infra_error"] * 3


def test_failed_solver_rollouts_are_not_counted():
    made = []

    def often(task):
        made.append(task)
        if len(made) == 1:
            raise InfrastructureError("no sandbox")
        return ENV(task)

    one = play(proposing(read=read, solve=linear(max_turns=3), samples=4, env=often))
    assert one.ending.kind == "completed" and len(one.aux_turns) == 4 and read_proposal(one).attempts == 3


def test_a_stopped_rollout_keeps_its_solver_rollouts():
    plan = proposing(read=read, solve=linear(max_turns=3), samples=2)(attempt())

    def sample(name, request):
        if request.by:
            raise Stopped
        return engine("2*3").sample([request])[0]

    (one,) = run_plan(plan, sample=sample)
    assert one.ending == Ending("truncated", "stopped") and len(one.aux_turns) == 2


def test_proposing_rejects_invalid_arguments():
    with pytest.raises(InputError, match="samples is 0"):
        proposing(read=read, solve=linear(), samples=0)
    with pytest.raises(InputError, match="needs the aux policy .solver.: give aux_policies="):
        play(aux_policies={})


@cache
def taught(seed):
    """A policy that has learned to say short texts, and to stop."""
    engine = LocalEngine(TinyModel.new(TinyConfig(layers=1, width=32, heads=2, max_length=96), seed=seed))
    said = [
        (Message("user", asked), Message("assistant", text)) for asked in ("Ask.", "7") for text in ("7", "8", "19")
    ]
    lessons = [
        trajectory_from_messages(Compact(), both, (calculator.schema,), id=str(i)) for i, both in enumerate(said)
    ]
    stage = teach(source=scripted(trajectories=lessons), batch_size=6, epochs=60, learning_rate=0.01)
    stage(make_site(engine=engine, format=Compact()))
    return engine.model


def tiny(seed):
    return deepcopy(taught(seed))


def anything(text):
    """Whatever was written is a question."""
    return Task(f"asked-{text}", (Message("user", text),))


def weights(engine):
    return [p.detach().clone() for p in engine.model.module.parameters()]


def same(left, right):
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


class Counting:
    """A loss that lists the training tokens."""

    def __init__(self):
        self.seen = []
        self._loss = policy(ratio=token(), surrogate=clip(), reduction=rollout_mean())

    def __call__(self, out, batch):
        self.seen += [row[mask].tolist() for row, mask in zip(batch.ids_BT, batch.mask_BT)]
        return self._loss(out, batch)


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**20), size=st.integers(2, 4), samples=st.integers(1, 3))
def test_solver_rollouts_are_recorded_and_neither_scored_nor_trained(tmp_path_factory, seed, size, samples):
    """The proposer's loss has only the proposer's tokens, the solver stays unchanged, and the record has all tokens."""
    folder = tmp_path_factory.mktemp("run")
    proposer, other, loss, scored = LocalEngine(tiny(1)), LocalEngine(tiny(2)), Counting(), []
    before, start = weights(other), weights(proposer)
    rollout = proposing(read=anything, solve=linear(max_turns=2), samples=samples)

    def worth(one):
        scored.append(one)
        return float((one.num_tokens + one.sample) % 3)

    result = train(
        engine=proposer,
        format=Compact(),
        env=ENV,
        tasks=in_order([OPENING]),
        rollout=rollout,
        reward=outcome(worth),
        credit=group_norm(),
        loss=loss,
        sampling=Sampling(max_tokens=6),
        steps=2,
        groups=1,
        group_size=size,
        seed=seed,
        run=RunConfig(
            out=folder,
            progress=False,
            aux_policies={"solver": AuxPolicy(other, Compact(), Sampling(max_tokens=6))},
        ),
    )
    assert other.version == 0 and same(before, weights(other))
    with RunRecord.open(folder) as record:
        groups = [one.group for one in record.groups()]
    played = [one for group in groups for one in group]
    asked = [said for one in played for said in one.aux_turns]
    assert all(one.by == "" for one in (*played, *scored)) and all(said.by == "solver" for said in asked)
    assert asked and len(asked) == samples * sum(bool(one.aux_turns) for one in played)
    for name, count in (
        ("tokens", lambda t: t.num_tokens),
        ("turns", lambda t: len(t.turns)),
        ("calls", lambda t: len(t.calls)),
    ):
        assert sum(row.get(f"asked/solver/{name}", 0.0) for row in result.metrics) == sum(map(count, asked))
    assert sum(row["tokens/sampled"] for row in result.metrics) == sum(one.num_tokens for one in played)
    own = [sequence.ids[sequence.mask].tolist() for one in played for sequence in one.sequences]
    assert all(ids in own for ids in loss.seen)
    trained = sum(row["tokens/trained"] for row in result.metrics)
    assert sum(map(len, loss.seen)) == trained
    differ = any(row["reward_spread"] > 0 for row in result.metrics)  # else every advantage is 0
    moved = not same(start, weights(proposer))
    assert moved == any(row.get("grad_norm", 0.0) > 0 for row in result.metrics)  # equal siblings cancel each other
    assert differ or not moved
    voices = {"solver": AuxChat(Compact(), Sampling(max_tokens=6), 96)}
    setup = Setup(rollout, Compact(), ENV, Sampling(max_tokens=6), 96, aux_policies=voices)
    for group in groups:
        for tools in (False, True):
            for one in replay(group, replace(setup, tools=tools)):
                assert one.differences == ()


def test_a_replay_detects_a_changed_question():
    one = play()
    short = replace(one, aux_turns=one.aux_turns[:3])
    changed = replace(one.aux_turns[0], messages=(*one.aux_turns[0].messages[:-1], Message("assistant", "12")))
    setup = Setup(
        proposing(read=read, solve=linear(max_turns=3), samples=4),
        Compact(),
        ENV,
        Sampling(),
        400,
        aux_policies={"solver": VOICE},
    )
    assert replay(Group(OPENING, (one,)), setup)[0].differences == ()
    assert [d.what for d in replay(Group(OPENING, (short,)), setup)[0].differences] == ["requests"]
    (found,) = replay(Group(OPENING, (replace(one, aux_turns=(changed, *one.aux_turns[1:])),)), setup)
    assert [d.what for d in found.differences] == ["messages"]


def test_a_bounded_environment_needs_a_separate_one_for_the_solver():
    def bounded(task):
        return ENV(task)

    bounded.most = 2
    plan = proposing(read=read, solve=linear(), samples=2)
    with pytest.raises(InputError, match="at most 2 may be open: give proposing"):
        next(plan(attempt(env=bounded)))
    assert next(proposing(read=read, solve=linear(), samples=2, env=ENV)(attempt(env=bounded)))
