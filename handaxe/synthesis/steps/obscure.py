"""Step: replaces names in questions by descriptions with a unique answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task
from handaxe.synthesis.ask_values import AskedValue, ask_values, desk_settings
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.solvers import Solver
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.steps.answer_votes import answer_votes
from handaxe.synthesis.task_drafts import draft_task, draft_text, task_draft
from handaxe.worlds.library.obscured import ObscuredTask

__all__ = ["obscure"]

READ = json_object({"question": str})


def obscure(
    rule: Callable[[Task], ObscuredTask | None],
    *,
    unique: Callable[[Task], bool | None],
    name: str,
    desk: AskDesk | None = None,
    solver: Solver | None = None,
    agree: float = 0.5,
    max_tokens: int = 128,
) -> SynthesisStep:
    """Make the step "obscure": a task -> a task with a description instead of a name.

        rule    chooses facts that single the named thing out, and writes the question
        model   reads question, names and description of the rule, and writes the question
        kept  <=>  the question hides the names and the answer, and the answer is unique:
                   by the rule `unique` where it can tell, else by a share `agree` of the solver's answers

    Args:
        rule: task -> a harder task; None if there is none.
        unique: whether a task has its answer alone; None if the facts of the question are not known.
        name: of both rules and their options, on which the outcomes depend.
        desk: asks the model; None for the rule.
        solver: of questions whose facts are not known; None drops them.
        agree: least share of the solver's answers that are correct, above 0.
        max_tokens: of a model's answer.

    Returns:
        A step that reads and makes drafts of kind "task", with the note "obscured", who wrote the question.

    Raises:
        InputError: agree out of range; while running, see `ask_values`.

    Example:
        "the river of kemi"  ->  "the river of the town whose mayor is tolven"

    Paper: arXiv:2508.07976 (ASearcher), injection and blurring of facts with a check of uniqueness.
    Unconfirmed: the wording of the prompt, and the share.
    Differs: a rule chooses the facts, also where a model writes.
    """
    if not 0 < agree <= 1:
        raise InputError(f"agree is {agree}; give a share above 0 and up to 1")
    votes = None if solver is None else answer_votes(solver, of="answer", low=agree)

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        made = at.map(lambda draft: rule(draft_task(draft)), drafts)
        pairs = [(draft, one) for draft, one in zip(drafts, made, strict=True) if one is not None]
        if desk is None:
            found = [_draft(draft, one.task, one, "rule") for draft, one in pairs]
        else:
            asked = ask_values(desk, [_question(desk, *pair, max_tokens) for pair in pairs], READ)
            found = [_rewritten(*pair, own) for pair, own in zip(pairs, asked, strict=True)]
        left = iter([_checked(one, unique, votes, at) for one in found])
        return [dropped("nothing to obscure") if one is None else next(left) for one in made]

    prompt = None if desk is None else find_prompt("obscure", terse=desk.answerer.terse)
    who = desk_settings(desk, f"{prompt.name} {prompt.digest[:12]}" if prompt else "")
    checks = {"solver": None if solver is None else dict(solver.settings), "agree": agree}
    return SynthesisStep("obscure", run, settings={**who, "rule": name, **checks})


def _draft(draft: SynthesisDraft, task: Task, made: ObscuredTask, by: str) -> DraftOutcome:
    """The draft of a question without hidden names and answer."""
    text = task.messages[-1].content
    if any(_has_word(text, one) for one in made.hidden):
        return dropped("a hidden name is in the question")
    if _has_word(text, str(task.answer)):
        return dropped("answer in the question")
    return kept(task_draft(task, parents=(draft.id,), notes={**draft.notes, "obscured": by}))


def _rewritten(draft: SynthesisDraft, made: ObscuredTask, own: AskedValue[dict[str, Any]]) -> DraftOutcome:
    if isinstance(own.value, NoAnswer):
        return dropped(f"no answer: {own.value.reason}")._replace(asked=own.asked)
    text = own.value["question"].strip()
    if not text:
        return dropped("empty question")._replace(asked=own.asked)
    task = Task("", (Message("user", text),), made.task.answer, made.task.tools, made.task.metadata)
    return _draft(draft, task, made, "model")._replace(asked=own.asked)


def _checked(
    found: DraftOutcome, unique: Callable[[Task], bool | None], votes: SynthesisStep | None, at: SynthesisContext
) -> DraftOutcome:
    if not found.kept:
        return found
    known = unique(draft_task(found.kept[0]))
    if known is not None:
        return found if known else dropped("not unique")._replace(asked=found.asked)
    if votes is None:
        return dropped("uniqueness unknown")._replace(asked=found.asked)
    (voted,) = votes.run(found.kept, at)
    return voted._replace(asked=(*found.asked, *voted.asked))


def _has_word(text: str, word: str) -> bool:
    return bool(word) and re.search(rf"(?<!\w){re.escape(word.lower())}(?!\w)", text.lower()) is not None


def _question(desk: AskDesk, draft: SynthesisDraft, made: ObscuredTask, max_tokens: int) -> Ask:
    fields = {"question": draft_text(draft), "names": ", ".join(made.hidden), "description": made.description}
    sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
    prompt = find_prompt("obscure", terse=desk.answerer.terse)
    return Ask(prompt, fields, role="proposer", about=(draft.id, -1, ""), sampling=sampling)
