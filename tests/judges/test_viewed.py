"""A judge of images: what it sees, its score and loss against loops, and gradients through the vision tower."""

import math

import numpy as np
import pytest
import torch
from helpers.image_records import noise, shown_trajectory
from helpers.reward_models import make_engine
from helpers.vision_policy import vision_model

from handaxe.core.errors import InputError
from handaxe.core.heads import Head
from handaxe.core.images import PLACEHOLDER
from handaxe.core.records import Group, Message, Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.reward_model import reward_model
from handaxe.judges.step_status import step_status
from handaxe.judges.viewed import (
    PreferredMessage,
    label_messages,
    last_image,
    request_and_image,
    request_message,
    viewed,
)
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.models.chat_formats.compact import Compact
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.make_records import make_trajectory
from handaxe.training.sft.supervised import as_rated, supervised_batch


def text_view(one):
    return Message("user", f"{len(one.turns)} {one.final_text}")


CONTRACT = [
    {
        "judge": reward_model(engine=make_engine(), pairs=ordered(), learning_rate=0.01),
        "format": Compact(),
        "view": text_view,
    }
]
LAB = "scores a rendering by another judge, which has the row"


def image_judge(**options):
    model = vision_model()
    engine = LocalEngine(model, heads={"reward": Head(init="normal")})
    scorer = reward_model(engine=engine, pairs=ordered(), **options)
    return engine, viewed(judge=scorer, format=Compact(model.image_processor))


def rollout(seed, id="0"):
    return shown_trajectory(noise(100, 16, 16), noise(seed, 16, 16), id=id)


def state_behind(engine, message):
    """Score of a message by the model's own forward, a row alone."""
    format = Compact(engine.model.image_processor)
    ids = [*format.start((message,), ()).ids, *format.encode_turn(Message("assistant", ""), ())]
    row = torch.tensor([ids])
    hidden_D = engine.model.hidden(row, torch.ones_like(row, dtype=torch.bool), message.images)[0, -1]
    return engine._heads["reward"](hidden_D[None])[0, 0]


def test_a_judge_sees_the_request_and_the_last_image():
    one = rollout(1)
    assert last_image(one) == noise(1, 16, 16)
    message = request_and_image(one)
    assert message.content == f"What stands in ?\n{PLACEHOLDER}" and message.images == (noise(1, 16, 16),)
    assert request_message(one.task, None).images == () and last_image(make_trajectory()) is None


@torch.no_grad()
def test_scores_are_those_of_the_state_behind_the_message():
    pytest.importorskip("PIL")
    engine, judge = image_judge()
    group = Group(rollout(1).task, tuple(rollout(k, id=str(k)) for k in (1, 2, 3)))
    expected = [float(state_behind(engine, request_and_image(one))) for one in group]
    assert judge.score(group).tolist() == pytest.approx(expected, abs=1e-6)
    assert len(set(expected)) == 3
    (chance,) = judge.compare([(group[0], group[1])])
    assert chance == pytest.approx(1 / (1 + math.exp(expected[1] - expected[0])), abs=1e-6)
    assert judge.score(Group(group.task, ())).shape == (0,) and judge.compare([]).shape == (0,)


def pairs():
    said = [Message.of("user", "a\n", noise(k, 16, 16)) for k in range(4)]
    return [PreferredMessage(said[0], said[1], 1.0), PreferredMessage(said[2], said[3], 0.5)]


def test_the_loss_is_a_slow_sum_over_pairs():
    engine, judge = image_judge(learning_rate=0.0)
    with torch.no_grad():
        margins = [float(state_behind(engine, pair.chosen) - state_behind(engine, pair.rejected)) for pair in pairs()]
    expected = sum(math.log1p(math.exp(-margin)) for margin in margins) / len(margins)
    found = judge.fit_messages(pairs())
    assert found["loss"] == pytest.approx(expected, abs=1e-6)
    assert found["loss/accuracy"] == pytest.approx(sum(margin > 0 for margin in margins) / 2)


def test_the_loss_by_hand():
    """Scores 1 and 0.5: softplus(-0.5)."""
    assert math.log1p(math.exp(-0.5)) == pytest.approx(0.47408, abs=1e-5)
    assert 1 / (1 + math.exp(-0.5)) == pytest.approx(0.62246, abs=1e-5)


def test_the_gradient_reaches_the_vision_tower_and_equals_finite_differences():
    engine, judge = image_judge()
    made = label_messages(pairs()[:1], Compact(engine.model.image_processor))
    batch = supervised_batch([as_rated(list(made[0][0]))], engine)
    tower = engine.model.module.vision
    weights = [tower.stem[0].weight, tower.columns.weight, engine._heads["reward"].layers[0].weight]
    engine.forward_backward(batch, bradley_terry())
    gradients = [weight.grad.clone() for weight in weights]

    @torch.no_grad()
    def value():
        first, second = pairs()[0][:2]
        margin = state_behind(engine, first) - state_behind(engine, second)
        return float(torch.nn.functional.softplus(-margin))

    for weight, gradient in zip(weights, gradients):
        at = int(gradient.abs().argmax())
        entry, step = weight.data.view(-1), 1e-5
        before = float(entry[at])
        entry[at] = before + step
        up = value()
        entry[at] = before - step
        down = value()
        entry[at] = before
        assert float(gradient.view(-1)[at]) == pytest.approx((up - down) / (2 * step), abs=1e-6, rel=1e-4)
        assert float(gradient.abs().max()) > 1e-6


def test_learning_turns_the_order_of_a_pair():
    _, judge = image_judge(learning_rate=3e-3, epochs=10)
    group = Group(rollout(1).task, (rollout(1), rollout(2, id="1")))
    before = judge.score(group)
    labels = Scores(np.array([0.0, 1.0]) if before[0] > before[1] else np.array([1.0, 0.0]))
    judge.fit([(group, labels)])
    after = judge.score(group)
    assert (after[0] > after[1]) != (before[0] > before[1])


def test_a_judge_that_does_not_learn_is_refused():
    judge = viewed(judge=step_status(), format=Compact(), view=text_view)
    with pytest.raises(InputError, match="has no fit"):
        judge.fit([])
    assert judge.learn([], step=0) == {} and judge.state_dict() == {}
