"""Critic of reward programs and analyser of failed rollouts that ask a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable
from handaxe.core.records import Sampling, Trajectory
from handaxe.methods.study_source import study_answer
from handaxe.ops.conversation_text import conversation_text

__all__ = ["asked_analyser", "asked_objection", "read_sentences"]

MAX_CHARS = 600
"""Characters of an answer that are kept."""
SAMPLING = Sampling(max_tokens=160, temperature=0.0)
FINE = "fine"


def asked_objection(desk: AskDesk, *, goal: str) -> Callable[[str], str]:
    """Make a critic's second look at a program, after the program has run without an error.

    Args:
        desk: asks the model, in the prompt `auto_mc_reward/critique`.
        goal: name of the tasks.

    Returns:
        Text of a program -> objection; "" for an answer that begins with "fine", and for an unreadable answer.

    Raises:
        InputError: while asking; the model is away.

    Example:
        answer "Fine." -> ""; answer "It pays for waiting." -> "It pays for waiting."

    Paper: arXiv:2312.09238 (Auto MC-Reward), the reward critic.
    Unconfirmed: the wording of the prompt.
    """

    def objection(text: str) -> str:
        prompt = find_prompt("auto_mc_reward/critique", terse=desk.answerer.terse)
        ask = Ask(prompt, {"goal": goal, "program": text}, role="critic", sampling=SAMPLING)
        (found,) = desk.ask([ask], read_sentences)
        said = study_answer(found, role="critic") or FINE
        return "" if said.lower().startswith(FINE) else said

    return objection


def asked_analyser(
    desk: AskDesk, *, goal: str, rollouts: int = 3, messages: int = 8
) -> Callable[[Sequence[tuple[Trajectory, float]]], str]:
    """Make an analyser of a trial's failed rollouts.

    Args:
        desk: asks the model, in the prompt `auto_mc_reward/analyse`.
        goal: name of the tasks.
        rollouts: most failed rollouts that are shown, the last ones.
        messages: last messages of each.

    Returns:
        (rollout, score) of a trial -> sentences on the causes; "" without a rollout of score 0, or for an unreadable
        answer.

    Raises:
        InputError: while asking; the model is away.

    Example:
        scores 1 and 0 -> the model reads the last 8 messages of the second rollout

    Paper: arXiv:2312.09238 (Auto MC-Reward), the trajectory analyser.
    Unconfirmed: the wording of the prompt, and how many rollouts and frames it shows.
    """

    def analyse(scored: Sequence[tuple[Trajectory, float]]) -> str:
        failed = [one for one, score in scored if score <= 0][-rollouts:]
        if not failed:
            return ""
        shown = "\n\n".join(conversation_text(one.messages[-messages:]) for one in failed)
        prompt = find_prompt("auto_mc_reward/analyse", terse=desk.answerer.terse)
        ask = Ask(prompt, {"goal": goal, "rollouts": shown}, role="analyser", sampling=SAMPLING)
        (found,) = desk.ask([ask], read_sentences)
        return study_answer(found, role="analyser") or ""

    return analyse


def read_sentences(answer: AskAnswer) -> str:
    """Read an answer as one line of at most 600 characters. Raises Unreadable for an empty answer.

    Example:
        "It waits.\\n\\nPay for keys." -> "It waits. Pay for keys."
    """
    words = " ".join(answer.text.split())
    if not words:
        raise Unreadable("the answer is empty")
    return words[:MAX_CHARS]
