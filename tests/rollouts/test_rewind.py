from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.advantages.mask_shared_prefix import mask_shared_prefix
from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, Author, Branch, Ending, Group, Message, RatedGroup
from handaxe.core.requests import Act, EnvReply, Sample
from handaxe.core.usage import Usage
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.transformed import transformed
from handaxe.engines.local.engine import LocalEngine
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Rules
from handaxe.rollouts.rewind import rewind
from handaxe.testing.make_records import make_scores
from handaxe.training.loop.batch import make_batch


def long_one(dice, **knobs):
    """A recorded attempt of three turns and more, all answered."""
    for seed in range(80):
        (one,) = run_plan(linear(max_turns=6)(dice.attempt(seed, **knobs)), sample=dice.roll)
        if len(one.turns) >= 4:
            return one
    raise AssertionError


def again(dice, recorded, turn, *, seed=900, id="t/9", sample=None, env=None, rules=None):
    attempt = dice.attempt(seed, id=id, env=env or dice.Counter)
    play = rewind(attempt, rules or Rules(max_turns=6), recorded, turn=turn)
    (one,) = run_plan(play.plan(), sample=sample or dice.roll)
    return one


def test_rewind_shares_recorded_turns_and_continues_itself(dice):
    recorded = long_one(dice)
    for k in range(len(recorded.turns)):
        one = again(dice, recorded, k)
        records.check(one)
        start = recorded.turns[k].start
        assert one.branch_of == Branch(recorded.id, 0, start) and one.turns[:k] == recorded.turns[:k]
        for key in ("ids", "author", "turn", "logp", "behaviour_logp", "version"):
            np.testing.assert_array_equal(
                getattr(one.sequences[0], key)[:start], getattr(recorded.sequences[0], key)[:start]
            )
        assert [turn.seed for turn in one.turns[k:]] == [derive_seed(900, n) for n in range(k, len(one.turns))]


def test_rewind_with_the_recorded_seed_repeats_the_recording(dice):
    recorded = long_one(dice)
    one = again(dice, recorded, 2, seed=recorded.seed)
    np.testing.assert_array_equal(one.sequences[0].ids, recorded.sequences[0].ids)
    assert (one.messages, one.env, one.ending) == (recorded.messages, recorded.env, recorded.ending)


def test_recorded_turns_are_replayed_once_with_their_seed_and_not_sampled(dice):
    recorded, asked = long_one(dice), []
    plan, answer = rewind(dice.attempt(7), Rules(max_turns=6), recorded, turn=3).plan(), None
    while True:
        request = plan.send(answer)
        if isinstance(request, Sample):
            assert (
                request.turn == 3 and list(request.ids) == recorded.sequences[0].ids[: recorded.turns[3].start].tolist()
            )
            break
        if isinstance(request, Act):
            asked.append((request.turn, request.seed))
            answer = request.env.step(request.turn, seed=request.seed)
        else:
            answer = request.call()
    assert asked == [(turn.parsed, turn.seed) for turn in recorded.turns[:3]]
    plan.close()


def test_rewind_usage_counts_new_tokens_and_repeated_calls(dice):
    recorded = long_one(dice)
    one = again(dice, recorded, 2)
    own, calls = one.turns[2:], sum(len(turn.parsed.calls) for turn in one.turns)
    replies = [reply for turn in one.turns for reply in turn.replies]
    assert one.usage == Usage(
        sum(turn.stop - turn.start for turn in own),
        calls,
        sum(turn.seconds for turn in own) + sum(reply.seconds for reply in replies),
        sum(turn.cost for turn in own) + sum(reply.cost for reply in replies),
    )
    later = again(dice, one, 1, id="t/10")  # and what was gone back to can be gone back to
    assert later.usage.tokens == later.num_tokens - sum(turn.stop - turn.start for turn in later.turns[:1])


def never(name, request):
    raise AssertionError("the policy is not asked at a state that is not the recorded one")


def departing(dice, change):
    class Other(dice.Counter):
        def step(self, turn, *, seed):
            return change(super().step(turn, seed=seed), len(self.asked))

    return Other


DEPARTURES = {
    "another reply": lambda reply, n: reply._replace(
        replies=(replace(reply.replies[0], content="9"), *reply.replies[1:])
    ),
    "another status": lambda reply, n: reply._replace(
        replies=(replace(reply.replies[0], status="failed"), *reply.replies[1:])
    ),
    "another message": lambda reply, n: reply._replace(messages=(Message("tool", "9"),)),
    "one message more": lambda reply, n: reply._replace(messages=(*reply.messages, Message("user", "and?"))),
    "one message less": lambda reply, n: reply._replace(messages=reply.messages[:-1]),
    "other facts": lambda reply, n: reply._replace(facts={"sum": 1}),
    "over": lambda reply, n: reply._replace(done=True),
    "later": lambda reply, n: reply._replace(facts={"sum": 1}) if n == 2 else reply,
}


@pytest.mark.parametrize("name", DEPARTURES)
def test_another_state_than_the_recorded_one_ends_as_infra_error(dice, name):
    recorded = long_one(dice)
    env = departing(dice, DEPARTURES[name])
    one = again(dice, recorded, 2, env=env, sample=never)
    records.check(one)
    assert one.ending.kind == "infra_error" and "cannot be reached again" in one.ending.reason
    assert ("turn 1" if name == "later" else "turn 0") in one.ending.reason
    assert one.turns == recorded.turns[:2] and dice.Counter.made[-1].closed == 1


def test_another_opening_than_the_recorded_one_ends_as_infra_error(dice):
    class Other(dice.Counter):
        def start(self):
            super().start()
            return (Message("user", "come"),), (dice.ADD,)

    one = again(dice, long_one(dice), 1, env=Other, sample=never)
    assert one.ending.kind == "infra_error" and "it is opened" in one.ending.reason


def test_an_environment_that_fails_during_replay_ends_as_infra_error(dice):
    dead = Ending("infra_error", "OSError: no disk")
    env = departing(dice, lambda reply, n: EnvReply(done=True, ending=dead))
    assert again(dice, long_one(dice), 2, env=env, sample=never).ending == dead


def test_formats_that_rewrite_history_are_rewound(dice):
    recorded = long_one(dice, format=dice.Rewriting())
    k = len(recorded.turns) - 1
    play = rewind(dice.attempt(5, format=dice.Rewriting()), Rules(max_turns=6), recorded, turn=k)
    (one,) = run_plan(play.plan(), sample=dice.roll)
    records.check(one)
    assert len(recorded.sequences) > 1 and one.branch_of.sequence == recorded.turns[k].sequence
    for mine, theirs in zip(one.sequences, recorded.sequences[: one.branch_of.sequence]):
        np.testing.assert_array_equal(mine.ids, theirs.ids)


def test_invalid_rewind_points_are_errors(dice):
    recorded = long_one(dice)
    with pytest.raises(InputError, match="no turn 9"):
        again(dice, recorded, 9)
    with pytest.raises(InputError, match="at 'u'"):
        again(dice, replace(recorded, task=replace(recorded.task, id="u")), 1)
    with pytest.raises(InputError, match="no snapshots"):
        again(dice, recorded, 1, rules=Rules(snapshots=True))
    for other in (
        replace(recorded, by="judge"),
        replace(recorded, aux_turns=(recorded,)),
        replace(recorded, notes={"anew": [1]}),
    ):
        with pytest.raises(InputError, match="cannot be gone back to"):
            again(dice, other, 1)


def gradient(engine, batch):
    for one in engine.model.module.parameters():
        one.grad = None
    engine.forward_backward(batch, policy(ratio=token(), surrogate=clip(), reduction=token_mean()))
    return np.concatenate([one.grad.double().numpy().ravel() for one in engine.model.module.parameters()])


def test_gradient_equals_rows_of_the_new_part(dice):
    """In float64, with `mask_shared_prefix`: as if no policy had written what was recorded."""
    recorded = long_one(dice)
    group = Group(recorded.task, tuple(again(dice, recorded, k, seed=k, id=f"t/{k}") for k in (1, 2, 3)))
    scores = make_scores([1.0, -0.5, 0.25])
    advantages = transformed(constant_baseline(), mask_shared_prefix())(group, scores)

    def plain(one):
        (sequence,), start = one.sequences, one.branch_of.token
        given = (np.arange(len(sequence)) < start) & sequence.mask
        keep = ~given
        return replace(
            one,
            branch_of=None,
            turns=tuple(turn for turn in one.turns if turn.start >= start),
            sequences=(
                replace(
                    sequence,
                    author=np.where(given, int(Author.EXPERT), sequence.author).astype(np.int8),
                    logp=np.where(keep, sequence.logp, 0).astype(np.float32),
                    behaviour_logp=np.where(keep, sequence.behaviour_logp, 0).astype(np.float32),
                    version=np.where(keep, sequence.version, -1).astype(np.int32),
                ),
            ),
        )

    rows = Group(group.task, tuple(plain(one) for one in group))
    alike = Advantages(transformed(constant_baseline())(rows, scores).tokens)
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=400), seed=2)
    model.module.to(torch.float64)
    engine = LocalEngine(model)
    found = [
        gradient(engine, make_batch([RatedGroup.of(own, scores, said)], pad_id=engine.pad_id))
        for own, said in ((group, advantages), (rows, alike))
    ]
    assert np.abs(found[0]).max() > 1e-3
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    whole = make_batch([RatedGroup.of(group, scores, constant_baseline()(group, scores))], pad_id=engine.pad_id)
    assert np.abs(gradient(engine, whole) - found[0]).max() > 1e-4  # without `own_part` it is another one
