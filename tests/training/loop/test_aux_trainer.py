"""A second policy that trains beside the first: separate batches, denominators and gradients, and resumed runs."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy, FromPolicy, Learner
from handaxe.core.records import Advantages, Message, RatedGroup, Sampling, Scores
from handaxe.core.requests import AuxRequest, EnvReply
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.ops.seeds import generator
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.loop.aux_trainer import AuxTrainer, role_group
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.config import Updates
from handaxe.training.loop.train import train
from handaxe.training.loop.update import update
from handaxe.training.record.run_record import RunRecord

LOSS = policy(ratio=token(), surrogate=clip(), reduction=token_mean())


class Consulting:
    """Environment that asks a second policy about every turn, and ends after two turns."""

    def __init__(self, task):
        self.task, self.turns = task, 0

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        self.turns += 1
        return EnvReply(aux_request=AuxRequest("critic", (Message("user", turn.text[:8] or "?"),)))

    def on_aux_reply(self, turn, *, seed):
        return EnvReply((Message("user", turn.text[:8] or "."),), done=self.turns == 2)

    def report(self):
        return {}

    def snapshot(self):
        return self.turns

    def restore(self, state):
        self.turns = state

    def close(self):
        pass


def trainer(world, **changes):
    options = {"credit": world.centred, "loss": world.reinforce, "learning_rate": 0.01} | changes
    return AuxTrainer("critic", **options)


def speaker(world):
    """Policy whose turns end and depend on the seed; its log-probs are 0."""
    return world.Talking(lambda request: "abc"[: 1 + request.seed % 3])


def arguments(world, second, engine, **changes):
    second.begin(engine)
    critic = AuxPolicy(second.engine, world.FORMAT, Sampling(max_tokens=5))
    roles = {"engine": engine, "env": Consulting, "learners": (second,), "aux_policies": {"critic": critic}}
    return world.arguments(**roles, **changes)


def with_aux(texts, aux_texts, sample, by="critic"):
    """Trajectory with the turns of an auxiliary policy."""
    own = make_trajectory(id=f"t/{sample}", sample=sample, texts=texts)
    aux = replace(make_trajectory(id=f"t/{sample}/{by}", sample=sample, texts=aux_texts), by=by)
    return replace(own, aux_turns=(aux,))


def rated_group(aux_lengths=(1, 1)):
    """Two rollouts with outcomes 1 and 0; lengths of the auxiliary texts, in letters."""
    pair = [with_aux(["ab", "c"], ["x" * aux_lengths[0]], 0), with_aux(["abcd"], ["y" * aux_lengths[1]], 1)]
    group = make_group(trajectories=pair)
    tokens = tuple(
        tuple(sign * one.mask.astype(np.float64) for one in trajectory.sequences)
        for sign, trajectory in zip((1.0, -1.0), pair, strict=True)
    )
    return RatedGroup.of(group, Scores(np.array([1.0, 0.0])), Advantages(tokens))


def test_role_group_of_the_example():
    pair = [with_aux(["a"], ["b"], 0), make_trajectory(id="t/1", sample=1, texts=["a"]), with_aux(["a"], ["b"], 2)]
    group = make_group(trajectories=pair)
    rated = RatedGroup.of(group, Scores(np.array([1.0, 0.0, 1.0])), Advantages(()))
    found, scores = role_group(rated, "critic")
    assert [one.id for one in found] == ["t/0/critic", "t/2/critic"] and scores.outcome.tolist() == [1, 1]
    assert len(role_group(rated, "user")[0]) == 0
    _, other = role_group(rated, "critic", lambda rated: 1 - rated.scores.outcome)
    assert other.outcome.tolist() == [0, 0]


@pytest.mark.parametrize("lengths", [(1, 1), (2, 2), (7, 30)])
def test_a_second_policys_tokens_are_in_no_denominator_of_the_first(lengths):
    bare = rated_group()
    bare = bare.with_group(replace(bare.group, trajectories=tuple(replace(t, aux_turns=()) for t in bare.group)))
    alone, both = make_batch([bare], pad_id=0), make_batch([rated_group(lengths)], pad_id=0)
    assert both.denominators == alone.denominators and torch.equal(both.ids_BT, alone.ids_BT)
    assert torch.equal(both.mask_BT, alone.mask_BT)
    group, scores = role_group(rated_group(lengths), "critic")
    own = [sum(int(sequence.mask.sum()) for sequence in one.sequences) for one in group]
    role = RatedGroup.of(
        group, scores, Advantages(tuple(tuple(s.mask.astype(np.float64) for s in t.sequences) for t in group))
    )
    assert make_batch([role], pad_id=0).denominators.tokens == sum(own)


def gradient(engine, rated):
    engine.model.module.zero_grad()
    engine.forward_backward(make_batch([rated], pad_id=0, dtype=torch.float64), LOSS)
    return [one.grad.clone() for one in engine.model.module.parameters() if one.grad is not None]


def slow_loss(engine, rated):
    """Clipped surrogate of the policy's own tokens, token by token, without batches."""
    total, count = 0.0, 0
    for i, trajectory in enumerate(rated.group):
        for s, sequence in enumerate(trajectory.sequences):
            batch = make_batch([rated], pad_id=0, dtype=torch.float64)
            row = next(
                r for r in range(len(batch)) if batch.ids_BT[r, : len(sequence)].tolist() == sequence.ids.tolist()
            )
            logp_T = engine.forward(batch, names=("logp",))["logp"][row].double()
            for t in np.flatnonzero(sequence.mask):
                ratio = float(torch.exp(logp_T[t] - sequence.logp[t]))
                adv = rated.advantages.tokens[i][s][t]
                total -= min(ratio * adv, min(max(ratio, 0.8), 1.2) * adv)
                count += 1
    return total / count


@pytest.mark.exact
def test_the_gradient_of_the_first_policy_is_that_of_its_own_tokens(world):
    """Finite differences of a loop over the policy's tokens; a verbose second policy changes no bit of the gradient."""
    engine = world.make_engine(double=True)
    short, long = rated_group((1, 1)), rated_group((9, 40))
    found = gradient(engine, long)
    assert all(torch.equal(a, b) for a, b in zip(found, gradient(engine, short), strict=True))
    parameters = [one for one in engine.model.module.parameters() if one.grad is not None]
    rng = np.random.default_rng(0)
    for _ in range(6):
        which = int(rng.integers(len(parameters)))
        place = int(rng.integers(parameters[which].numel()))
        flat, step = parameters[which].data.view(-1), 1e-5
        values = []
        for sign in (1, -1):
            flat[place] += sign * step
            values.append(slow_loss(engine, long))
            flat[place] -= sign * step
        assert float(found[which].view(-1)[place]) == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-6)


def test_the_first_step_of_the_policy_is_the_same_with_and_without_training_of_the_second(world):
    weights = {}
    for rate in (0.01, 1e-30):
        engine, second = speaker(world), trainer(world, learning_rate=rate)
        assert isinstance(second, Learner) and isinstance(second, FromPolicy)
        train(**arguments(world, second, engine, steps=1))
        weights[rate] = world.weights(engine), world.weights(second.engine)
    start = world.weights(world.make_engine())
    assert world.same(weights[0.01][0], weights[1e-30][0]) and not world.same(weights[0.01][0], start)
    assert not world.same(weights[0.01][1], weights[1e-30][1])


def test_the_step_of_the_second_policy_is_that_of_its_own_trajectories(world, tmp_path):
    engine, second = speaker(world), trainer(world)
    result = train(**arguments(world, second, engine, steps=1, out=tmp_path))
    with RunRecord(tmp_path) as record:
        groups = list(record.groups(step=0))
    alone = world.make_engine()
    rated = []
    for one in groups:
        group, scores = role_group(one, "critic")
        assert len(group) == 4 and all(t.by == "critic" for t in group)
        rated.append(RatedGroup.of(group, scores, world.centred(group, scores)))
    made = update(
        alone,
        world.reinforce,
        rated,
        updates=Updates(),
        learning_rate=0.01,
        rng=generator(0, "aux", "critic", 0),
        step=0,
    )
    assert world.same(world.weights(alone), world.weights(second.engine)) and second.engine.version == 1
    row = result.metrics[0]
    assert row["learner/aux_trainer/trajectories"] == 12
    assert row["learner/aux_trainer/loss"] == pytest.approx(made.metrics["loss"])


def test_rollouts_without_the_role_train_nothing(world):
    second = trainer(world)
    second.begin(world.make_engine())
    group = make_group(trajectories=[make_trajectory(texts=["a"])])
    rated = RatedGroup.of(group, Scores(np.array([1.0])), Advantages(()))
    found = second.learn([rated], step=0)
    assert found["nothing_to_train"] == 1 and found["trajectories"] == 0 and second.engine.version == 0


def test_a_reference_is_measured_for_its_penalty(world):
    second = trainer(world, updates=Updates(annotate=("ref_logp",)))
    seen = []

    def seeing(out, batch):
        seen.append("ref_logp" in batch.extras)
        return world.reinforce(out, batch)

    second._loss = seeing
    train(**arguments(world, second, speaker(world), steps=1))
    assert seen and all(seen)
    with pytest.raises(InputError, match="the critic cannot train with a critic"):
        trainer(world, updates=Updates(annotate=("value",)))


class Died(Exception):
    """The process stops."""


@pytest.mark.exact
@pytest.mark.parametrize("dies", [2, 3, 6])
def test_a_killed_run_with_two_policies_resumes_to_the_bit(world, tmp_path, monkeypatch, dies):
    """Three steps with two optimizer steps each, of the second policy and of the first: killed in either."""

    def trained(out, resume=False):
        engine, second = speaker(world), trainer(world)
        roles = {"steps": 3, "out": out, "resume": resume, "checkpoint_every": 1, "minibatches": 1}
        train(**arguments(world, second, engine, **roles))
        return engine.state_dict(), second.state_dict()

    whole = trained(tmp_path / "whole")
    kind = type(world.make_engine())
    step, taken = kind.optim_step, []

    def counted(self, **options):
        taken.append(self)
        if len(taken) == dies:
            raise Died
        return step(self, **options)

    monkeypatch.setattr(kind, "optim_step", counted)
    with pytest.raises(Died):
        trained(tmp_path / "dies")
    monkeypatch.setattr(kind, "optim_step", step)
    resumed = trained(tmp_path / "dies", resume=True)

    def flat(state):
        if isinstance(state, dict):
            return [one for key in sorted(state, key=str) for one in flat(state[key])]
        if isinstance(state, list | tuple):
            return [one for part in state for one in flat(part)]
        return [state.numpy().tobytes() if isinstance(state, torch.Tensor) else state]

    assert flat(resumed) == flat(whole)
