"""Rollouts in the world `clips` with given views and answers."""

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Group, Message, ToolCall
from handaxe.methods.build import make_method, make_world
from handaxe.models.chat_formats.compact import CALL_END, Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.worlds.parts.demonstrate import demonstrate

PATCHES = TinyImageProcessor(8)


class _Broken(Compact):
    """Leaves every call open."""

    def encode_turn(self, message, tools):
        ids = super().encode_turn(message, tools)
        return [one for one in ids if one != CALL_END]


def method_of(name, *words):
    made = parse_train(name, list(words), prog="handaxe train", also={"run": RunOptions})[0]
    return make_method(made, make_world(made))


def task_of(method, family="read", where=lambda task: True):
    tasks = method.world.tasks("train", 60, 0)
    return next(one for one in tasks if one.metadata["family"] == family and where(one))


def attempt(method, task, *views, says=None, broken=False):
    """A rollout with views, one a turn, and then an answer. A text is a crop; (text, ) a sheet of frames."""
    lines = []
    for view in views:
        name, text, key = ("crop_clip", view, "span") if isinstance(view, str) else ("frames", view[0], "window")
        lines.append(Message("assistant", "", (ToolCall(name, {key: text}),)))
    lines.append(Message("assistant", str(task.answer) if says is None else says))
    form = (_Broken if broken else Compact)(PATCHES)
    env = method.world.env(method.world.tools)
    return demonstrate(env, task, lambda task, facts: lines[min(facts["turn"], len(views))], format=form, max_turns=4)


def outcomes(method, *attempts):
    return method.reward(Group(attempts[0].task, attempts)).outcome.tolist()


def gold(task):
    return " ".join(map(str, task.metadata["gold"]))
