"""Constants of the method v_toolrl, read by the tests of every method (tests/papers), and its reward."""

import pytest

pytest.importorskip("vega_datasets")
pytest.importorskip("sklearn")

from helpers.methods import made

from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import CALL_END, Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

ABOUT_REWARDS = True
PATCHES = TinyImageProcessor(8)


class FirstCallOpen(Compact):
    """Leaves the first call that is written open."""

    def __init__(self):
        super().__init__(PATCHES)
        self.written = 0

    def encode_turn(self, message, tools):
        self.written += 1
        ids = super().encode_turn(message, tools)
        return [one for one in ids if one != CALL_END] if self.written == 1 else ids


def test_v_toolrl_adds_the_share_of_well_formed_turns():
    """The paper: a correct answer and three turns, one of them malformed: 1 + 2/3, which is 5/3 - 1 here."""
    method = made("v_toolrl")
    task = next(one for one in method.world.tasks("train", 40, 0) if one.metadata["kind"] == "value")
    look = ToolCall("zoom", {"box": " ".join(map(str, task.metadata["gold"]))})
    spoken = [look, look, ToolCall("answer", {"text": task.answer})]
    env = method.world.env(method.world.tools)

    def speaker(task, facts):
        return Message("assistant", "", (spoken[facts["turn"]],))

    broken = demonstrate(env, task, speaker, format=FirstCallOpen())
    whole = demonstrate(env, task, speaker, format=Compact(PATCHES))
    assert len(broken.turns) == len(whole.turns) == 3 and whole.ending.kind == "completed"
    assert method.reward(Group(task, (broken, whole))).outcome == pytest.approx([1 + 2 / 3 - 1, 1.0])
