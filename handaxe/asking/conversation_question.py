"""Question to an auxiliary policy about a conversation, such as that of an adviser or a simulated user."""

from collections.abc import Callable, Mapping, Sequence

from handaxe.asking.aux_question import aux_question
from handaxe.core.records import Message, Task
from handaxe.core.requests import AuxChat, AuxRequest
from handaxe.ops.conversation_text import conversation_text

__all__ = ["conversation_question"]

AGENT: Mapping[str, str] = {"assistant": "agent"}


def _last_message(task: Task) -> str:
    return task.messages[-1].content


def conversation_question(
    role: str,
    prompt: str,
    *,
    goal: Callable[[Task], str] = _last_message,
    names: Mapping[str, str] = AGENT,
) -> Callable[[Task, Sequence[Message], AuxChat], AuxRequest]:
    """Make a function that asks a model about a conversation, by a prompt file; see `aux_question`.

    Args:
        role: name of the auxiliary policy.
        prompt: id of a prompt with the quoted field "conversation" and perhaps the trusted field "goal", such as
            "advise" and "user".
        goal: of the model, from the task.
        names: role of a message -> word for it in the text.

    Returns:
        (task, messages, chat of the model) -> request, for `rollouts.advised` and `envs.with_user`. A long conversation
        loses its middle, visibly.

    Raises:
        InputError: an unknown prompt, or one with other fields, when asked.

    Example:
        "advise", "12*34?" and a call of calculator, context 300 ->
            '"user: 12*34?\\nagent: calculator({...})"\\nadvice?' is the only message

    Idea: advisers and users read the same text, under different prompts.
    """

    def ask(task: Task, messages: Sequence[Message], chat: AuxChat) -> AuxRequest:
        fields = {"goal": goal(task), "conversation": conversation_text(messages, names=names)}
        return aux_question(role, prompt, chat, fields)

    return ask
