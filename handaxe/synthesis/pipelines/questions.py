"""Pipeline: questions of a world's kind, verified by execution."""

from __future__ import annotations

import json
from collections.abc import Sequence

from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Task
from handaxe.synthesis import steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.step import SynthesisStep

__all__ = ["questions"]

EXAMPLES = 64
"""Training tasks that examples are drawn from."""


def questions(
    at: PipelineContext,
    *,
    tries: int = 2,
    similarity: float = 0.9,
    ngram: int = 8,
    shown: int = 3,
    temperature: float = 0.7,
    max_tokens: int = 256,
    samples: int = 4,
    low: float = 0.0,
    high: float = 1.0,
    batch: int = 256,
) -> Pipeline:
    """Propose questions, execute and compare them, and measure the difficulty.

        propose -> solve (rule) or replay (model) -> dedupe -> decontaminate -> difficulty, with a policy

    The rule draws training tasks of the world, which its expert solves; without an expert, reference calls are
    replayed. A model reads training tasks as examples, and its calls are replayed.

    Args:
        tries: executions of a task.
        similarity: of the words of two tasks, from which the later one is dropped; above 1 for equal words alone.
        ngram: words that a task may not share with a test task of the same answer.
        shown: examples that a model reads.
        temperature: of a model's answers.
        max_tokens: of a model's answer.
        samples: rollouts of the policy for a task.
        low: least pass rate.
        high: largest pass rate.
        batch: proposals of a round.

    Idea: verify by execution first.
    """
    checked = steps.solve(at.world, at.env, tries=tries) if at.world.expert else steps.replay(at.env, tries=tries)
    if at.desk is None:
        first: SynthesisStep = steps.draw_tasks(at.world, options=at.options)
    else:
        checked = steps.replay(at.env, tries=tries)
        examples = at.world.tasks("train", EXAMPLES, 0)
        tools = _described(at.env, examples)
        first = steps.ask_tasks(
            at.desk, examples=examples, tools=tools, shown=shown, temperature=temperature, max_tokens=max_tokens
        )
    chosen = [first, checked, steps.dedupe(similarity=similarity), steps.decontaminate(at.tests, words=ngram)]
    if at.policy is not None:
        engine, format, digest = at.policy
        chosen.append(
            steps.difficulty(at.world, at.env, engine, format, policy=digest, samples=samples, low=low, high=high)
        )
    return Pipeline("questions", tuple(chosen), batch=batch, about={"world": at.world.name, "options": at.options})


def _described(env: EnvFactory, tasks: Sequence[Task]) -> str:
    """Name, description and parameters of the tools of the first task, a JSON object a line."""
    made = env(tasks[0])
    try:
        _, schemas = made.start()
    finally:
        made.close()
    shown = [
        {"name": one.name, "description": one.description, "parameters": one.parameters.get("properties", {})}
        for one in schemas
    ]
    return "\n".join(json.dumps(one) for one in shown)
