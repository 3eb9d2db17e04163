from dataclasses import replace

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Advantages, Author, Criterion, Message, RatedGroup, Sampling, Scores, Task
from handaxe.core.requests import Attempt
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.corrections.tis import tis
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.build import build
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rewards.parts.schedules import sigmoid
from handaxe.rollouts.driver import run
from handaxe.rollouts.hinted import _shown, hinted
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Play, Rules
from handaxe.testing.make_records import make_group
from handaxe.training.loop.batch import Row, make_batch, pad

ENGINE = LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=400), seed=2))
TASK = Task("t", (Message("user", "go"),))
FOUR = [Criterion(name, f"Do {name}.") for name in "abcd"]


def attempt(sibling=0, siblings=1, *, step=0, task=TASK, format=None, seed=3):
    return Attempt(
        task,
        tool_chat([]),
        format or Compact(),
        Sampling(max_tokens=6),
        f"{task.id}/{sibling}",
        sibling,
        seed + sibling,
        400,
        step=step,
        sibling=sibling,
        siblings=siblings,
    )


def played(attempts, **knobs):
    rollout = hinted(**({"rollout": linear(), "criteria": lambda task: FOUR} | knobs))
    made = [one for own in run(attempts, rollout, ENGINE) for one in own]
    for one in made:
        records.check(one)
    return made


def said(one):
    return sum(f"Do {name}." in one.messages[0].content for name in "abcd")


def test_hinted_reveals_fewer_criteria_to_later_siblings():
    three = played([attempt(i, 3) for i in range(3)], fraction=0.5)
    assert [said(one) for one in three] == [2, 1, 0] == [len(one.notes["hint"]) for one in three]
    criteria = [Criterion(str(k), f"<{k}>") for k in range(7)]
    eight = played([attempt(i, 8) for i in range(8)], criteria=lambda task: criteria)
    shares = [len(one.notes["hint"]) / 7 for one in eight]
    assert shares == pytest.approx([1, 0.857, 0.714, 0.571, 0.429, 0.286, 0.143, 0], abs=5e-4)


def test_hints_fade_with_the_step_for_a_lone_rollout():
    fade = sigmoid(11, middle=0.5, steepness=10)
    for step, count in ((0, 4), (5, 2), (10, 0)):
        (one,) = played([attempt(step=step)], fraction=fade)
        assert said(one) == count


def test_hints_open_the_system_message_and_are_noted():
    first, second = (played([attempt(seed=seed)], fraction=0.5)[0] for seed in (3, 3))
    assert first.notes == second.notes and first.task == TASK
    drawn = {tuple(played([attempt(seed=seed)], fraction=0.5)[0].notes["hint"]) for seed in range(12)}
    assert len(drawn) > 3 and all(list(names) == sorted(names) for names in drawn)
    hint = first.messages[0]
    assert (hint.role, hint.name) == ("system", "hint") and first.messages[1] == TASK.messages[0]
    assert Compact().decode(first.sequences[0].ids).startswith(f"<SYSTEM>{hint.content}<END><USER>go<END>")
    spoken = replace(TASK, messages=(Message("system", "Be short."), *TASK.messages))
    (one,) = played([attempt(task=spoken)])
    assert one.messages[0].content == "Be short.\n\nHints:\nDo a.\nDo b.\nDo c.\nDo d." and len(one.messages) == 3


def test_strip_records_the_rollout_without_its_hint():
    for task in (TASK, replace(TASK, messages=(Message("system", "Be short."), *TASK.messages))):
        (kept,), (bare,) = (played([attempt(task=task)], strip=strip) for strip in (False, True))
        assert bare.messages[: len(task.messages)] == task.messages and "Do a." not in str(bare.messages)
        opening = Compact().start(task.messages, ())
        (was,), (now,) = kept.sequences, bare.sequences
        written = was.ids[was.mask]
        assert now.ids.tolist() == [*opening.ids, *written] and now.ids[now.mask].tolist() == written.tolist()
        assert set(now.author[now.mask]) == {Author.FORCED} and not now.logp.any() and (now.version == -1).all()
        assert now.behaviour_logp[now.mask].tolist() == was.behaviour_logp[was.mask].tolist()
        assert kept.turns[0].parsed == bare.turns[0].parsed and bare.turns[0].start == len(opening.ids)
    (last,) = played([attempt(2, 3)], strip=True)  # nothing was said to it
    assert (last.sequences[0].author == Author.POLICY).any()


def test_a_stripped_rollout_trains_on_measured_log_probs():
    (kept,), (bare,) = (played([attempt()], strip=strip) for strip in (False, True))

    def measured(one):
        batch = pad([Row(one, np.zeros(len(one)), 0, 0)], pad_id=ENGINE.pad_id)
        return ENGINE.forward(batch)["logp"][0].numpy()

    (now,) = bare.sequences
    fresh = measured(now)
    assert not np.allclose(fresh[now.mask], now.behaviour_logp[now.mask], atol=1e-3)
    assert np.allclose(measured(kept.sequences[0])[kept.sequences[0].mask], now.behaviour_logp[now.mask], atol=1e-4)

    def rated(one):
        group = make_group(trajectories=[one], task=TASK)
        ones = tuple(tuple(np.ones(len(s)) for s in each.sequences) for each in group)
        return RatedGroup.of(group, Scores(np.ones(1)), Advantages(ones))

    with pytest.raises(InputError, match="old_logp"):
        make_batch([rated(bare)], pad_id=0)
    known = replace(bare, sequences=(replace(now, features={"old_logp": np.where(now.mask, fresh, 0)}),))
    old = make_batch([rated(known)], pad_id=0).old_logp_BT[0].numpy()
    assert np.allclose(old[now.mask], fresh[now.mask])
    loss = policy(ratio=token(), surrogate=clip(), reduction=token_mean(), correction=tis(cap=1e9))
    batch = make_batch([rated(known)], pad_id=ENGINE.pad_id)
    metrics = ENGINE.forward_backward(batch, loss).metrics
    apart = np.exp(fresh - now.behaviour_logp)[now.mask]
    assert metrics["ratio_mean"] == pytest.approx(1.0, abs=1e-4), "nothing was learned yet"
    assert metrics["correction_mean"] == pytest.approx(apart.mean(), rel=1e-3) and abs(apart - 1).max() > 0.01


def test_strip_rejects_a_strategy_that_drops_the_opening():
    def forgets(one):
        play = Play(one, Rules(max_turns=1))

        def turns():
            play.new_sequence(one.task.messages[1:])
            return (yield from play.turn())

        return [(yield from play.run(turns()))]

    assert len(played([attempt()], rollout=forgets)[0].sequences) == 2
    with pytest.raises(InputError, match="does not begin as the attempt did"):
        played([attempt()], rollout=forgets, strip=True)


@pytest.mark.parametrize("fraction", [-0.1, 1.5, lambda step: 2.0])
def test_a_fraction_out_of_range_is_an_error(fraction):
    with pytest.raises(InputError, match="give 0 to 1"):
        played([attempt()], fraction=fraction)


def test_held_out_tasks_are_never_hinted():
    """What environments are opened with in training and in an evaluation of the recipe that hints."""
    words = ["--steps", "2", "--groups", "2", "--group-size", "4", "--held-out", "2", "--model", "tiny"]
    parts = build(parse_train("rusca_rl", words, prog="handaxe train", also={})[0])
    seen = []

    def env(task):
        seen.append(task.messages)
        return parts["env"](task)

    (one,) = parts["tasks"].next(0, 1)
    mine = replace(attempt(0, 4), task=one, env=env, sampling=Sampling(max_tokens=4))
    run([mine], parts["rollout"], parts["engine"])
    assert [message.name for messages in seen for message in messages] == ["hint", ""]
    seen.clear()
    replace(parts["run"].evaluation.evaluate, env=env, sampling=Sampling(max_tokens=4))(parts["engine"], 0)
    assert len(seen) == 2 and all(message.name == "" for messages in seen for message in messages)


def test_hints_keep_the_images_of_a_system_message():
    image = Image.of(np.zeros((1, 1, 3), np.uint8))
    task = Task("t", (Message.of("system", "Look: ", image), Message.of("user", image)))
    shown = _shown(task, [Criterion("a", f"Do {PLACEHOLDER}.")])
    assert shown.messages[0] == Message.of("system", "Look: ", image, "\n\nHints:\nDo \ufffd.", name="hint")
    assert shown.messages[1] == task.messages[1]
    assert _shown(task, []) is task
