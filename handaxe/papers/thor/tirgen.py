"""TIRGen: an actor writes steps, a refiner turns computable ones into calls, and the tool's replies go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import ParsedTurn, Task
from handaxe.papers.thor.actor import Actor, NextStep, OpenSolution
from handaxe.synthesis.call_writer import CallWriter, WorkedText
from handaxe.synthesis.computations import values_agree
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.lesson import LessonTool, LessonTurn, lesson_draft
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.steps.write_calls import NO_CALL
from handaxe.synthesis.task_drafts import draft_task, draft_text

__all__ = ["tirgen"]


@dataclass
class _Solving:
    """Solution of a draft: steps with replies for the actor, turns of the lesson, and text without a call so far."""

    draft: SynthesisDraft
    task: Task
    env: Env
    steps: list[str] = field(default_factory=list)
    turns: list[LessonTurn] = field(default_factory=list)
    pending: str = ""
    reason: str = ""
    done: bool = False
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return not self.done and not self.reason


def tirgen(env: EnvFactory, actor: Actor, refiner: CallWriter, *, most_steps: int = 12) -> SynthesisStep:
    """Make the step "tirgen": task -> task with a lesson.

        repeat   the actor writes the next step, or the answer
                 the refiner names the computations of the step; a step without one stays text
                 each call is executed; the reply replaces the stated value, and the actor reads it

    A task is dropped if a call fails, a reply contradicts the step, the answer is another than the task's, no step has
    a call, or the answer is missing after `most_steps` steps.

    Args:
        env: of the tasks; every environment that is made is closed.
        actor: writes steps.
        refiner: writes calls of a step.
        most_steps: of a solution, the answer included, >= 1.

    Returns:
        A step that reads and keeps drafts of kind "task".

    Raises:
        InputError: most_steps below 1; while running, see `ask_values`. InfrastructureError: the tool died.

    Example:
        "57*83=?": step "57*83=4731" -> call 57*83, reply 4731; step "Answer: 4731" -> lesson [["", "57*83", ...]]

    Paper: arXiv:2509.13761 (THOR), TIRGen.
    Unconfirmed: the number of steps.
    Differs: one round of the refiner for a step; a refiner that is a rule finds computations by pattern. A refiner that
        is a model reads the question, too; the paper's reads the step alone. A reply that contradicts the step drops
        the task; in the paper the reply replaces the stated value.
    """
    if most_steps < 1:
        raise InputError(f"most_steps is {most_steps}; give 1 or more")

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        with ExitStack() as stack:
            solving = [_start(one, env, stack) for one in drafts]
            for _ in range(most_steps):
                open_ = [one for one in solving if one.open]
                if not open_:
                    break
                _advance(open_, actor, refiner, at)
        return [_outcome(one) for one in solving]

    settings = {**actor.settings, **refiner.settings, "most_steps": most_steps}
    return SynthesisStep("tirgen", run, settings=settings)


def _start(draft: SynthesisDraft, env: EnvFactory, stack: ExitStack) -> _Solving:
    task = draft_task(draft)
    made = env(task)
    stack.callback(made.close)
    made.start()
    return _Solving(draft, task, made)


def _advance(open_: Sequence[_Solving], actor: Actor, refiner: CallWriter, at: SynthesisContext) -> None:
    """Take one step of each open solution."""
    places = [OpenSolution(one.draft.id, one.task, draft_text(one.draft), tuple(one.steps)) for one in open_]
    going = list[tuple[_Solving, str]]()
    for one, step in zip(open_, actor.act(places), strict=True):
        one.asked += step.asked
        if _goes_on(one, step):
            going.append((one, step.text))
    texts = [WorkedText(one.draft.id, draft_text(one.draft), text) for one, text in going]
    written = refiner.write(texts) if texts else []
    for (one, text), found in zip(going, written, strict=True):
        one.asked += found.asked
        one.reason = found.reason
        if not found.reason:
            turns = [LessonTurn(call.before, call.code, call.value) for call in found.found]
            rest = text[found.found[-1].stop :] if turns else text
            _execute(one, turns, rest, refiner.tool, at.seed)


def _goes_on(one: _Solving, step: NextStep) -> bool:
    """Note a step without text, or the answer; True for another step."""
    if step.reason:
        one.reason = step.reason
    elif step.answer is not None:
        one.done = True
        one.reason = "" if _equal(step.answer, str(one.task.answer).strip()) else "another answer"
        one.reason = one.reason or ("" if one.turns else NO_CALL)
    return one.open


def _equal(answer: str, gold: str) -> bool:
    """Whether texts or numbers are equal; 4731.0 is 4731, and 4731.3 is another answer."""
    return answer == gold or bool(values_agree(gold, answer) and values_agree(answer, gold))


def _execute(one: _Solving, turns: Sequence[LessonTurn], rest: str, tool: LessonTool, seed: int) -> None:
    """Execute the calls of a step, and note the step with the replies in place of the stated values."""
    shown, stated = "", ""
    for turn in turns:
        before = " ".join(part for part in (one.pending, turn.text) if part)
        one.pending = ""
        reply = one.env.step(ParsedTurn("", (tool.call(turn.code, f"c{len(one.turns)}"),)), seed=seed)
        status = reply.replies[0].status if reply.replies else "retry"
        if status == "infra_error":
            raise InfrastructureError(f"the tool {tool.name} died in a lesson of draft {one.draft.id}")
        said = reply.replies[0].content.strip() if reply.replies else ""
        agree = values_agree(turn.value, said)
        if status != "ok" or not agree:
            one.reason = "a call failed" if status != "ok" else "a reply contradicts the text"
            return
        one.turns.append(turn._replace(text=before))
        shown += f"{turn.text.removeprefix(stated)} {turn.code}={said}"
        stated = turn.value
    one.pending = " ".join(part for part in (one.pending, rest) if part)
    one.steps.append((shown + rest.removeprefix(stated)).strip())


def _outcome(one: _Solving) -> DraftOutcome:
    reason = one.reason or ("" if one.done else "no answer in the last step")
    made = dropped(reason) if reason else kept(lesson_draft(one.draft, one.turns))
    return made._replace(asked=tuple(one.asked))
