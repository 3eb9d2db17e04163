import importlib

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("vega_datasets")

from handaxe.baselines.grpo_no_kl import grpo_no_kl
from handaxe.core.images import message_images
from handaxe.core.records import Group, Message, ToolCall
from handaxe.methods.method import RunSettings
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.chartmaster import chartmaster
from handaxe.papers.chartmaster.chart_code import DRAWER, attribute_overlap, chart_code, drawn_code, picture_similarity
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

chart_code_module = importlib.import_module("handaxe.papers.chartmaster.chart_code")
FORMAT = Compact(TinyImageProcessor(8))
pytestmark = pytest.mark.usefixtures("sandbox")


def draws(*codes):
    def speaker(task, facts):
        code = codes[facts["turn"]] if facts["turn"] < len(codes) else None
        return (
            Message("assistant", "well")
            if code is None
            else Message("assistant", "", (ToolCall("draw", {"code": code}),))
        )

    return speaker


def test_chart_code_keeps_the_world_contract():
    check_world(chart_code(), count=6)


def test_a_chart_ends_the_rollout():
    world = chart_code()
    for task in world.tasks("train", 4, 1):
        one = demonstrate(world.env(()), task, world.expert, format=FORMAT, context=512)
        assert len(one.turns) == 1 and one.ending.kind == "completed" and drawn_code(one) == task.answer
        (shown,), (drawn,) = message_images(task.messages), one.replies[0].images
        assert shown.digest == drawn.digest and (shown.width, shown.height) == (32, 32)
        group = Group(task, (one,))
        assert attribute_overlap()(group).outcome.tolist() == [1] and picture_similarity()(group).outcome[
            0
        ] == pytest.approx(1)


def test_a_rollout_without_a_chart_scores_0():
    world = chart_code()
    (task,) = world.tasks("train", 1, 0)
    one = demonstrate(world.env(()), task, lambda task, facts: Message("assistant", task.answer), format=FORMAT)
    group = Group(task, (one,))
    paid = chartmaster(grpo_no_kl(world, RunSettings())).reward
    for reward in (world.correct, attribute_overlap(), picture_similarity(), paid):
        assert reward(group).outcome.tolist() == [0]
    assert world.gauges["attributes"].top(one, 0.0) == 0 and drawn_code(one) is None


@pytest.mark.slow
def test_a_second_try_is_scored_by_its_attributes():
    world = chart_code()
    task = next(one for one in world.tasks("train", 60, 0) if one.answer.startswith("ax.bar") and "red" in one.answer)
    near = task.answer.replace("color='red'", "color='blue'")
    one = demonstrate(world.env(()), task, draws("ax.bar(", near), format=FORMAT)
    assert [reply.status for reply in one.replies] == ["retry", "ok"] and drawn_code(one) == near
    group = Group(task, (one,))
    wanted = attribute_overlap()(group).outcome[0]
    look = picture_similarity()(group).outcome[0]
    assert 0.4 < wanted < 1 and 0.5 < look < 1
    paid = chartmaster(grpo_no_kl(world, RunSettings())).reward
    assert paid(group).outcome.tolist() == pytest.approx([wanted + look])
    assert world.correct(group).outcome.tolist() == [0]
    assert world.gauges["attributes"].top(one, 0.0) == wanted


@pytest.mark.slow
def test_a_chart_that_fails_to_redraw_is_not_scored(monkeypatch):
    world = chart_code()
    (task,) = world.tasks("train", 1, 0)
    one = demonstrate(world.env(()), task, draws(f"{task.answer};0"), format=FORMAT)
    assert drawn_code(one) == f"{task.answer};0"
    monkeypatch.setattr(chart_code_module, "DRAWER", Late())
    group, scores = score_group(world.correct, Group(task, (one,)))
    assert group[0].ending.kind == "verifier_error" and not scores.eligible.any()


class Late:
    """Drawer for trusted code only."""

    def draw(self, code):
        return "TimeoutError: ran for more than 20 seconds"

    draw_trusted = DRAWER.draw_trusted
