"""Reflection on failures by a language model, which writes better instructions."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.asking.ask import OUTAGES, Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Reader, Unreadable, json_object
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import Sampling, Trajectory
from handaxe.curricula.advice import Failure, Propose
from handaxe.judges.question_fields import FIELDS
from handaxe.ops.seeds import generator

__all__ = ["read_instruction", "reflection", "shown_rollout"]

PROMPT = "inspo/reflect"
TOKENS = 160
"""Limit of an answer."""


def reflection(
    *, desk: AskDesk | None, rule: Propose, candidates: int = 2, shown: int = 3, longest: int = 120
) -> Propose:
    """Make a mutation operator that asks a language model for a better instruction.

        question k of `candidates`: instruction and `shown` failures, drawn without replacement; one candidate each

    Args:
        desk: asks the model; None for the rule.
        rule: operator of the source `rule`; it never answers for a model.
        candidates: questions of a reflection, >= 1. Unconfirmed.
        shown: failed rollouts in a question, >= 1; 1 for a model with a short context. Unconfirmed.
        longest: maximum length of a candidate in characters.

    Returns:
        (instruction, its failures, seed) -> candidates. An answer without a readable instruction is no candidate, and
        without failures there is no question.

    Raises:
        InputError: a number below 1.
        InfrastructureError: while asking, a server without an answer, or a spent budget; the run ends, and continues
            from its checkpoint.

    Example:
        instruction "Think.", failure "user: 2*7? ..." and the answer '{"instruction": "Use a tool."}'
        ->  "Use a tool."

    Paper: arXiv:2512.01945 (INSPO), reflection of a language model on failures of the replay buffer.
    Unconfirmed: the wording of the prompt, and the numbers.
    Differs: nothing known.
    """
    if min(candidates, shown, longest) < 1:
        raise InputError(
            f"reflection takes candidates, shown and longest of 1 or more, not {candidates}, {shown} and {longest}"
        )
    if desk is None:
        return rule

    def propose(instruction: str, failures: Sequence[Failure], seed: int) -> list[str]:
        prompt = find_prompt(PROMPT, terse=desk.answerer.terse)
        asks = []
        for k in range(candidates if failures else 0):
            draw = generator("reflection", seed, k)
            size = min(1 if desk.answerer.terse else shown, len(failures))
            drawn = sorted(draw.choice(len(failures), size=size, replace=False).tolist())
            text = "\n\n".join(failures[n].conversation for n in drawn)
            fields = {"instruction": instruction, "failures": text}
            asks.append(Ask(prompt, fields, role="reflector", sampling=Sampling(temperature=0.7, max_tokens=TOKENS)))
        found = desk.ask(asks, read_instruction(longest=longest))
        for one in found:
            if isinstance(one, NoAnswer) and one.reason in OUTAGES:
                raise InfrastructureError(f"the model that reflects gave no answer: {one.reason} {one.text[:200]!r}")
        return list(dict.fromkeys(one for one in found if isinstance(one, str)))

    return propose


def read_instruction(*, longest: int) -> Reader[str]:
    """Read the instruction of an answer, on one line.

    An instruction without a letter, or longer than `longest` characters, is unreadable; nothing is cut.

    Example:
        'It guessed. {"instruction": "Use  a tool."}' -> "Use a tool.";  "Use a tool." -> unreadable
    """
    read = json_object({"instruction": str})

    def instruction(answer: AskAnswer) -> str:
        text = " ".join(read(answer)["instruction"].split())
        if len(text) > longest or not any(character.isalpha() for character in text):
            raise Unreadable(f"the instruction has {len(text)} characters and not 1 to {longest} with a letter")
        return text

    return instruction


def shown_rollout(trajectory: Trajectory) -> str:
    """Conversation of a rollout as text, from its question on; the answer of the task is not shown.

    Example:
        "user: 2*7?", a turn "assistant: 15" and no tool  ->  "user: 2*7?\\nassistant: 15"
    """
    turn = len(trajectory.turns) - 1
    lines = [f"user: {FIELDS['task'](trajectory, turn, None)}"]
    return "\n".join([*lines, *([FIELDS["conversation"](trajectory, turn, None)] if trajectory.turns else [])])
