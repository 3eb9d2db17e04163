"""Constants of the method deepeyes_v2, read by the tests of every method (tests/papers), and its reward."""

import pytest

pytest.importorskip("rapidocr_onnxruntime")
pytest.importorskip("matplotlib")

from handaxe.commands.configure import parse_train  # noqa: E402
from handaxe.commands.train import RunOptions  # noqa: E402
from handaxe.core.records import Group, Message, ToolCall  # noqa: E402
from handaxe.methods.build import make_method, make_world  # noqa: E402
from handaxe.models.chat_formats.compact import Compact  # noqa: E402
from handaxe.models.tiny_image_processor import TinyImageProcessor  # noqa: E402
from handaxe.worlds.parts.demonstrate import demonstrate  # noqa: E402

ABOUT_REWARDS = True
SHORT = ["--sft-steps", "8"]
CHOSEN = parse_train("deepeyes_v2", [], prog="handaxe train", also={"run": RunOptions})[0]
METHOD = make_method(CHOSEN, make_world(CHOSEN))


def reward(kind, *names, says=None):
    task = next(one for one in METHOD.world.tasks("train", 100, 0) if one.metadata["kind"] == kind)
    number = task.metadata["slips"][0][3]
    arguments = {"zoom": {"box": "0 0 2 2"}, "search": {"query": str(number)}}
    lines = [Message("assistant", "", (ToolCall(name, arguments[name]),)) for name in names]
    lines.append(Message("assistant", str(task.answer) if says is None else says))
    one = demonstrate(
        METHOD.world.env(METHOD.world.tools),
        task,
        lambda task, facts: lines[facts["turn"]],
        format=Compact(TinyImageProcessor(8)),
    )
    return METHOD.reward(Group(task, (one,))).outcome[0]


@pytest.mark.parametrize(
    "kind, names, says, expected",
    [
        ("price", ["zoom"], None, 1.0),
        ("price", ["zoom", "search"], None, 0.92),
        ("total", ["search"], None, 0.92),
        ("total", ["search"], "no", 0.2),
        ("number", ["search"], None, 1.0),
        ("place", ["zoom"], None, 1.0),
        ("place", [], "1" * 300, 0.0),
    ],
)
def test_a_correct_answer_of_the_search_data_loses_a_tenth_for_a_search(kind, names, says, expected):
    """0.8 * 0.9 + 0.2 = 0.92, as in the paper's released code."""
    assert reward(kind, *names, says=says) == pytest.approx(expected)


def test_the_fine_tuning_is_shared_by_all_seeds():
    assert len(METHOD.shared) == 1 and not METHOD.stages
