"""Rollouts of `canvas` as edited drawings: request and last image."""

from __future__ import annotations

from handaxe.core.images import Image
from handaxe.core.records import Task, Trajectory
from handaxe.worlds.canvas.canvas import SHOWN, task_items
from handaxe.worlds.canvas.drawing import paint_items, parse_program
from handaxe.worlds.canvas.edits import EditRequest

__all__ = ["last_picture", "request_of"]


def request_of(task: Task) -> EditRequest:
    """Read the request of a task with one clause: a colour to dye, or an object to draw. No program is wrong.

    Example:
        "red to blue" of a red disc at 2 4  ->  kind "dye", place (2, 4), colour "blue"
    """
    program = str(task.metadata["program"])
    place = parse_program(program)[0].painted
    assert place is not None
    words = program.split()
    dyes = task.metadata["kind"] == "change"
    return EditRequest("dye" if dyes else "add", program, task_items(task), "", place, words[3] if dyes else words[0])


def last_picture(trajectory: Trajectory) -> Image:
    """Return the last image of a rollout; the drawing of the task, or a blank canvas, without one.

    Example:
        a rollout that painted twice  ->  the second image
    """
    shown = [image for message in trajectory.messages for image in message.images]
    return shown[-1] if shown else paint_items(task_items(trajectory.task), SHOWN)
