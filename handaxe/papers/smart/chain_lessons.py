"""Demonstrations of chains, with justifications by a rule or by a language model."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable
from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, StageContext
from handaxe.core.records import RatedGroup, Sampling, Task
from handaxe.ops.seeds import derive_seed
from handaxe.papers.smart.chains import Called, ChainStep, Justify, chain_steps, demonstrator, rule_justification
from handaxe.training.sft.supervised import as_rated
from handaxe.worlds.parts.demonstrate import demonstrate

__all__ = ["ask_justifications", "chain_lessons", "read_justification"]

DECISIONS = {
    "know": "answer from own knowledge",
    "code": "run a program",
    "search": "search",
    "ask": "ask the user",
}
LONGEST = 40
"""Characters of a justification."""
WORDS = Sampling(max_tokens=24)


def chain_lessons(*, count: int, shown: Called = "need", justified: bool = True, desk: AskDesk | None = None) -> Source:
    """Make a source of `count` demonstrations for the first tasks of the run, of any domain.

    A justification of a model is a text for one step and decision; a step without a readable one is no lesson: the
    task is left out, and the rule never writes instead.

    Args:
        count: demonstrations, 1 or more.
        shown: see `demonstrator`.
        justified: write decisions and justifications; otherwise calls and answer alone.
        desk: of the language model; None for the rule.

    Returns:
        A source for the stage `teach`.

    Raises:
        InputError: count below 1; no task has all justifications; a demonstration does not complete.

    Example:
        "3+4; 12*34?" -> the two turns of `demonstrator`'s example

    Paper: arXiv:2502.11435 (SMART), supervised fine-tuning on SMART-ER.
    Differs: a rule decides which steps are known; by default it also writes the justifications.
    """
    if count < 1:
        raise InputError(f"{count} demonstrations are nothing to learn from; give 1 or more")

    def source(site: StageContext) -> list[RatedGroup]:
        tasks: Sequence[Task] = site.tasks.next(0, count)
        justify: Justify | None = rule_justification if justified else None
        if justified and desk is not None:
            texts = ask_justifications(desk, [step for task in tasks for step in chain_steps(task)], shown=shown)
            tasks = [one for one in tasks if all(_key(step, shown) in texts for step in chain_steps(one))]
            if not tasks:
                raise InputError("no task has a justification for each step: the judge gave no readable texts")

            def justify(step: ChainStep) -> str:
                return texts[step]

        speaker = demonstrator(shown=shown, justify=justify)
        found = []
        for task in tasks:
            seed = derive_seed(site.seed, "chain lessons", task.id)
            one = demonstrate(site.env, task, speaker, format=site.format, id=task.id, seed=seed)
            if one.ending.kind != "completed":
                raise InputError(f"the demonstration of task {task.id!r} ended as {one.ending.kind}")
            found.append(as_rated([one]))
        return found

    return source


def ask_justifications(desk: AskDesk, steps: Sequence[ChainStep], *, shown: Called = "need") -> dict[ChainStep, str]:
    """Ask for the justification of each different step; steps without a readable one are left out.

    Example:
        code 12*34 -> "two large numbers"
    """
    wanted = list(dict.fromkeys(_key(one, shown) for one in steps))
    prompt = find_prompt("smart/justify", terse=desk.answerer.terse)
    asks = [
        Ask(prompt, {"step": one.text, "decision": DECISIONS[one.kind]}, role="justify", sampling=WORDS)
        for one in wanted
    ]
    answers = desk.ask(asks, read_justification)
    return {one: text for one, text in zip(wanted, answers, strict=True) if not isinstance(text, NoAnswer)}


def read_justification(answer: AskAnswer) -> str:
    """Read a justification: one line of printable ASCII, at most 40 characters, without a full stop at the end.

    Raises:
        Unreadable: no character is left.

    Example:
        " It is large.\\nSo: code" -> "It is large"
    """
    lines = answer.text.strip().splitlines()
    line = "".join(one for one in (lines[0] if lines else "") if " " <= one <= "~")[:LONGEST].strip().rstrip(". ")
    if not line:
        raise Unreadable(f"no justification in {answer.text[:80]!r}")
    return line


def _key(step: ChainStep, shown: Called) -> ChainStep:
    """The step with its decision in a demonstration."""
    return step._replace(kind="code") if shown == "always" and step.kind == "know" else step
