"""Input of VerifyRM: question, reference answer and final answer in one message."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, Task, Trajectory
from handaxe.training.sft.scripted import trajectory_from_messages

__all__ = ["judged_message", "judged_trajectory"]


def judged_message(task: Task, answer: str, *, reference: bool) -> Message:
    """Write question, reference answer and answer for the reward model.

    Args:
        task: with the reference as its answer.
        answer: final answer of a rollout.
        reference: include the reference.

    Raises:
        InputError: the task has no reference answer to include.

    Example:
        question "6 * 7", reference "42", answer "41"  ->  "6 * 7\\n42\\n41"; without the reference "6 * 7\\n41"

    Paper: arXiv:2508.05613 (Cooper), input of VerifyRM.
    Differs: lines, where the paper marks the three parts by tags.
    """
    if reference and task.answer is None:
        raise InputError(
            f"task {task.id!r} has no reference answer for the reward model: choose a world whose tasks have one, or "
            "leave the reference out"
        )
    shown = [str(task.answer)] if reference else []
    asked = task.messages[-1]
    return Message("user", "\n".join([asked.content, *shown, answer]), images=asked.images)


def judged_trajectory(format: ChatFormat, task: Task, answer: str, *, reference: bool, id: str) -> Trajectory:
    """Write the message as a conversation with an empty turn, at whose end a head reads.

    Args:
        format: chat format of the reward model.
        task, answer, reference: as in `judged_message`.
        id: of the trajectory.

    Raises:
        InputError: as in `judged_message`.

    Example:
        question "6 * 7", reference "42", answer "41"  ->  user "6 * 7\\n42\\n41", assistant ""

    Paper: arXiv:2508.05613 (Cooper), input of VerifyRM.
    Differs: as `judged_message`.
    """
    message = judged_message(task, answer, reference=reference)
    return trajectory_from_messages(format, [message, Message("assistant", "")], task=task, id=id)
