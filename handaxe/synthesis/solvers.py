"""Solvers: answers to the task of a draft, by rollouts or by direct questions to a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.core.errors import InputError
from handaxe.core.records import Group, Sampling, Task
from handaxe.evaluation.scenes import script
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.rewards.parts.scoring import score_group
from handaxe.synthesis.ask_values import ask_values, desk_settings
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.draft_rollouts import DraftRollouts, scored_ones
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.task_drafts import draft_task, draft_text
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["Solver", "SolverAnswers", "asked_solver", "rollout_solver", "rule_solver"]

CORRECT = 0.5
TRIES = 16
"""Sample numbers of a question, so that a retry equals no other sample."""


class SolverAnswers(NamedTuple):
    """Answers to a task, and JSON about questions.

    texts     in lower case with single spaces; "" is no answer
    correct   verdict of the world's rule on each
    A failed rollout or question is in neither.
    """

    texts: tuple[str, ...]
    correct: tuple[bool, ...]
    asked: tuple[Mapping[str, Any], ...] = ()


class Solver(NamedTuple):
    """Answers drafts; `settings` is JSON on which the answers depend.

    Example:
        rule_solver(world, rule, name="rule").answer([draft], SynthesisContext(0)) -> [SolverAnswers(("408",), (True,))]

    Idea: filters by votes read answers, whether a policy, a served model or a rule gives them.
    """

    answer: Callable[[Sequence[SynthesisDraft], SynthesisContext], list[SolverAnswers]]
    settings: Mapping[str, Any]


def rollout_solver(rollouts: DraftRollouts) -> Solver:
    """Make a solver of rollouts, with tools or without.

    Args:
        rollouts: of a policy, or of the rule.

    Returns:
        A solver; the text of a rollout is that of its last turn.

    Raises:
        VerifierError: while answering, no rollout could be scored.

    Example:
        4 rollouts that end in 5526, 5526, 9769 and a dead tool  ->  three texts, True, True, False
    """

    def answer(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[SolverAnswers]:
        found = [scored_ones(*one) for one in rollouts.play([draft_task(draft) for draft in drafts], at)]
        return [
            SolverAnswers(tuple(_plain(one.final_text) for one, _ in own), tuple(v > CORRECT for _, v in own))
            for own in found
        ]

    return Solver(answer, {**rollouts.settings, "world": rollouts.world.name})


def rule_solver(world: World, rule: Callable[[Task], str], *, name: str) -> Solver:
    """Make a solver of one answer by a rule, such as knowledge of a share of the facts by heart.

    Args:
        world: decides what is correct.
        rule: task -> an answer; "" for none.
        name: of the rule, on which the answers depend.

    Returns:
        A solver with one text for each draft.

    Example:
        rule_solver(world, lambda task: "", name="silent"): no draft has a correct answer
    """

    def answer(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[SolverAnswers]:
        del at
        return [_judged(world, draft_task(one), [rule(draft_task(one))]) for one in drafts]

    return Solver(answer, {"by": name, "world": world.name})


def asked_solver(
    world: World, desk: AskDesk, *, samples: int = 4, temperature: float = 0.7, max_tokens: int = 64
) -> Solver:
    """Make a solver that asks a model for direct answers, without tools.

    Args:
        world: decides what is correct.
        desk: asks the model.
        samples: answers to a question, 1 or more.
        temperature, max_tokens: of an answer.

    Returns:
        A solver with up to `samples` texts for each draft.

    Raises:
        InputError: samples below 1; while answering, see `ask_values`.

    Example:
        replies "408", "408" and "400" to "12*34=?"  ->  those texts, True, True, False
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; give 1 or more")
    prompt = find_prompt("answer", terse=desk.answerer.terse)
    sampling = Sampling(temperature=temperature, max_tokens=max_tokens)

    def question(draft: SynthesisDraft, sample: int) -> Ask:
        place = (draft.id, sample, "")
        fields = {"question": draft_text(draft)}
        return Ask(prompt, fields, role="solver", about=place, sampling=sampling, sample=sample * TRIES)

    def answer(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[SolverAnswers]:
        del at
        asked = ask_values(desk, [question(one, k) for one in drafts for k in range(samples)], _text)
        out = list[SolverAnswers]()
        for n, draft in enumerate(drafts):
            own = asked[n * samples : (n + 1) * samples]
            texts = [one.value for one in own if not isinstance(one.value, NoAnswer)]
            calls = tuple(call for one in own for call in one.asked)
            out.append(_judged(world, draft_task(draft), texts)._replace(asked=calls))
        return out

    settings = {**desk_settings(desk, f"{prompt.name} {prompt.digest[:12]}"), "sampling": repr(sampling)}
    return Solver(answer, {**settings, "samples": samples, "world": world.name})


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _text(answer: AskAnswer) -> str:
    return answer.text.strip()


def _judged(world: World, task: Task, texts: Sequence[str]) -> SolverAnswers:
    """Verdicts of the world on texts, each the only turn of a rollout without tools."""
    env, chat = world.env(()), Transcript()
    played = tuple(
        demonstrate(env, task, script(text), format=chat, id=str(k), max_turns=1) for k, text in enumerate(texts)
    )
    scored = scored_ones(*score_group(world.correct, Group(task, played)))
    kept_texts = tuple(_plain(texts[int(one.id)]) for one, _ in scored)
    return SolverAnswers(kept_texts, tuple(value > CORRECT for _, value in scored))
