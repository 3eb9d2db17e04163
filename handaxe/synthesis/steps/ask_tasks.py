"""Step: asks a model for tasks similar to a world's tasks."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task
from handaxe.ops.seeds import derive_seed
from handaxe.synthesis.ask_values import ask_values
from handaxe.synthesis.draft import SynthesisDraft, digest_of
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import task_draft

__all__ = ["ask_tasks"]

ROLE = "proposer"
READ = json_object({"question": str, "answer": str, "calls": list})


def ask_tasks(
    desk: AskDesk,
    *,
    examples: Sequence[Task],
    tools: str,
    shown: int = 3,
    temperature: float = 0.7,
    max_tokens: int = 256,
    prompt: str = "propose",
) -> SynthesisStep:
    """Make the step "propose" of a model: a seed -> one question with some training tasks as examples.

    An answer is a JSON object with question, answer and calls. An answer of another form drops the seed; nothing of it
    is repaired. The model reads training tasks alone.

    Args:
        desk: asks the model.
        examples: training tasks with a single message of the user.
        tools: description of the tools for the prompt.
        shown: examples of a question, drawn for each seed.
        temperature, max_tokens: of an answer.
        prompt: name of the prompt.

    Returns:
        A step that reads drafts of kind "seed" and makes drafts of kind "task".

    Raises:
        InputError: fewer examples than shown; while running, a question without an answer since the server is away or
            the budget is spent: no seed is dropped for it.

    Example:
        {"question": "12*34=?", "answer": "408", "calls": [{"name": "calculator", "arguments": {...}}]} -> a task

    Idea: a model varies tasks; execution and rules decide afterwards which of them stay.
    """
    rows = [_example(one) for one in examples if len(one.messages) == 1 and one.messages[0].role == "user"]
    if len(rows) < max(shown, 1) or shown < 0:
        raise InputError(f"a proposer is shown {shown} examples, and there are {len(rows)} with a single question")
    chosen = find_prompt(prompt, terse=desk.answerer.terse)
    sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
    settings = {
        "by": desk.answerer.fingerprint(),
        "prompt": f"{chosen.name} {chosen.digest[:12]}",
        "sampling": repr(sampling),
        "examples": digest_of(rows, shown, tools),
    }

    def question(draft: SynthesisDraft, seed: int) -> Ask:
        number = int(draft.payload["number"])
        rng = random.Random(derive_seed("propose", seed, number))
        lines = [json.dumps(one) for one in rng.sample(rows, shown)]
        fields = {"tools": tools, "examples": "\n".join(lines)}
        return Ask(chosen, fields, role=ROLE, about=(draft.id, -1, ""), sampling=sampling, sample=number)

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        found = ask_values(desk, [question(one, at.seed) for one in drafts], READ)
        return [_outcome(one, it.value)._replace(asked=it.asked) for one, it in zip(drafts, found, strict=True)]

    return SynthesisStep("propose", run, settings=settings)


def _example(task: Task) -> dict[str, Any]:
    calls = task.metadata.get("gold_calls", [])
    return {"question": task.messages[0].content, "answer": str(task.answer), "calls": calls}


def _outcome(draft: SynthesisDraft, value: Mapping[str, Any] | NoAnswer) -> DraftOutcome:
    if isinstance(value, NoAnswer):
        return dropped(f"no answer: {value.reason}")
    question, answer = value["question"].strip(), value["answer"].strip()
    calls = value["calls"]
    if not question or not answer:
        return dropped("empty question or answer")
    if not all(_is_call(one) for one in calls):
        return dropped("calls of another form")
    made = [{"name": one["name"], "arguments": one["arguments"]} for one in calls]
    task = Task("", (Message("user", question),), answer, None, {"gold_calls": made})
    return kept(task_draft(task, parents=(draft.id,)))


def _is_call(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("arguments"), dict)
