"""Rollout of one policy in two roles: a solver takes steps, a verifier judges each of them and may have it repaired.

    solver     opening + accepted steps                        -> step t: a call with its reply, or the answer
    verifier   opening + "check STEP"                          -> a call of its own (tool check), if any, then a verdict
    solver     opening + accepted steps + "again: CRITIQUE"    -> a step that replaces step t, after a doubtful verdict

Every line is a sequence of its own, all in one trajectory: the policy reads one role's prompt at a time, and the tokens
of both roles train.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from math import isfinite
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message, ParsedTurn, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.turn_positions import initial_messages, turn_positions
from handaxe.papers.agent0_vl.role_divergence import measure_divergence
from handaxe.rollouts.play import Continuation, Play, Rules

__all__ = [
    "SPEAKER",
    "Step",
    "Verdict",
    "is_repaired",
    "mean_divergence",
    "read_verdict",
    "solver_answer",
    "solver_steps",
    "step_text",
    "two_roles",
]

NOTE = "steps"
"""Key of the notes with the solver's steps."""
DIVERGENCE = "divergence"
"""Key of the notes with measured divergences: number of a solver's turn as text -> divergence."""
ROLE = "role"
"""Key of the notes with the role of the next turn."""
SOLVER = "solver"
VERIFIER = "verifier"
REPAIR = "repair"
DONE = "done"
SPEAKER = "verification"
"""Name of the strategy's messages."""


class Verdict(NamedTuple):
    """Verdict on a step.

    critique    what the step should be, for the repair
    score       -1 to 1
    confidence  0 to 1
    """

    critique: str
    score: float
    confidence: float


class Step(NamedTuple):
    """Step of the solver.

    turn        number of its turn
    text        the step as the verifier reads it, see `step_text`
    tool        its calls were executed without an error
    final       it has no call: the answer
    verdicts    of the verifier, in order: of the step, and of its repair
    divergence  of the two roles over its tokens, see `role_divergence`; 0 where it was not measured
    """

    turn: int
    text: str
    tool: bool
    final: bool
    verdicts: tuple[Verdict, ...] = ()
    divergence: float = 0.0


def two_roles(
    *, confidence: float = 0.7, repairs: int = 1, max_turns: int | Rules = 12, divergence: bool = False
) -> Rollout:
    """Play solver and verifier in turns; a verdict below a confidence has its step repaired.

        step t is repaired <=> confidence_t < tau, at most `repairs` times; the repair is verified like any step

    The environment must not end the rollout after an answer, which the verifier still has to judge
    (`papers.agent0_vl.checked_plates`). The rollout is complete with the accepted final step.

    Args:
        confidence: tau, 0 to 1; 0.7 in the paper. 0 repairs nothing.
        repairs: repairs of a step, >= 0.
        max_turns: turns of both roles together, or `Rules`.
        divergence: measure `role_divergence` of every step with a verdict. No token changes.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Its notes["steps"] hold the
        accepted steps with their verdicts, and notes["divergence"] the measured divergences by turn; `solver_steps`
        reads both.

    Raises:
        InputError: confidence, repairs or a limit out of range; with `divergence`, an engine without `measure`.

    Example:
        step "0 2 2 4", verdict "4 4 6 6 .5": a new sequence asks the solver "again: 4 4 6 6", and its step counts

    Paper: arXiv:2511.19900 (Agent0-VL), solver and verifier roles of one policy, and confidence-gated repair.
    Differs: the verifier reads the step's calls or text, and not the tool's reply, which it may ask for itself. A
    repair is verified again, and not repaired again.
    """
    if not 0 <= confidence <= 1 or repairs < 0:
        raise InputError(f"confidence {confidence} is not in 0 to 1, or repairs {repairs} is below 0")

    def continuation(play: Play) -> Continuation:
        return _continuation(play, confidence, repairs)

    rules = Rules.of(max_turns, continuation=continuation)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.run(_turns(play, divergence)))]

    return rollout


def solver_steps(trajectory: Trajectory) -> list[Step]:
    """Read the accepted steps of a trajectory, and the last one without a verdict, if any."""
    found = trajectory.notes.get(DIVERGENCE, {})
    steps = _read(trajectory.notes.get(NOTE, ()))
    return [step._replace(divergence=found.get(str(step.turn), 0.0)) for step in steps]


def solver_answer(trajectory: Trajectory) -> str:
    """Return the text of the last final step; "" without one."""
    return next((step.text for step in reversed(solver_steps(trajectory)) if step.final), "")


def is_repaired(trajectory: Trajectory) -> bool:
    """Check whether an accepted step is a repair."""
    return any(len(step.verdicts) > 1 for step in solver_steps(trajectory))


def mean_divergence(steps: Sequence[Step]) -> float:
    """Return the mean divergence of the steps with a verdict; 0 without one.

    Example:
        steps of 0.8 and 0.4, and a last one without a verdict  ->  0.6
    """
    found = [step.divergence for step in steps if step.verdicts]
    return sum(found) / len(found) if found else 0.0


def step_text(turn: ParsedTurn) -> str:
    """Return a step as text: the arguments of its calls, or its text without calls.

    Example:
        zoom {"box": "4 4 6 6"} -> "4 4 6 6"
    """
    values = [str(value) for call in turn.calls for value in call.arguments.values()]
    return " ".join(values) if turn.calls else turn.text.strip()


def read_verdict(text: str, step: str) -> Verdict:
    """Read a verdict: a JSON object, or what the step should be and a confidence.

    A JSON object has "score", "confidence" and "critique". In the short form, the score is 1 if the text before the
    confidence equals the step, else -1. Any other text is a verdict with score and confidence 0.

    Example:
        read_verdict("90 .9", "90") is Verdict("90", 1, 0.9); read_verdict("96 .5", "90") is Verdict("96", -1, 0.5)
    """
    if text.lstrip().startswith("{"):
        return _from_json(text)
    critique, _, last = text.strip().rpartition(" ")
    confidence = _number(last)
    if not critique or confidence is None or not 0 <= confidence <= 1:
        return Verdict("", 0.0, 0.0)
    return Verdict(critique, 1.0 if critique == step else -1.0, confidence)


def _from_json(text: str) -> Verdict:
    try:
        found = json.loads(text)
        score, confidence = _number(found["score"]), _number(found["confidence"])
    except (ValueError, KeyError, TypeError):
        return Verdict("", 0.0, 0.0)
    if score is None or confidence is None or not -1 <= score <= 1 or not 0 <= confidence <= 1:
        return Verdict("", 0.0, 0.0)
    return Verdict(str(found.get("critique", "")), score, confidence)


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if isfinite(found) else None


def _turns(play: Play, divergence: bool) -> Generator[Any, Any, Ending]:
    while True:
        role = play.notes.get(ROLE, SOLVER)
        ending = yield from play.turn()
        if divergence and role == VERIFIER and play.notes[ROLE] != VERIFIER:  # a verdict
            yield from _note_divergence(play)
        if ending is not None:
            return ending
        if play.notes[ROLE] == DONE:
            return Ending("completed")


def _note_divergence(play: Play) -> Generator[Any, Any, None]:
    """Note the divergence of the step that the last turn judged."""
    turn = _read(play.notes[NOTE])[-1].turn
    found = yield from measure_divergence(play, turn)
    play.notes.setdefault(DIVERGENCE, {})[str(turn)] = found


def _continuation(play: Play, confidence: float, repairs: int) -> Continuation:
    """Note the last turn, and choose role and prompt of the next one."""
    if play.notes.get(ROLE, SOLVER) != VERIFIER:
        return _after_step(play)
    if play.turns[-1].parsed.calls:
        return Continuation()  # the verifier's own call
    steps = _read(play.notes[NOTE])
    verdict = read_verdict(play.turns[-1].parsed.text, steps[-1].text)
    steps[-1] = steps[-1]._replace(verdicts=(*steps[-1].verdicts, verdict))
    _write(play, steps)
    if verdict.confidence < confidence and len(steps[-1].verdicts) <= repairs:
        play.notes[ROLE] = REPAIR
        critique = Message("user", f"again: {verdict.critique}", name=SPEAKER)
        return Continuation(new_sequence=(*_solved(play, steps[:-1]), critique))
    play.notes[ROLE] = DONE if steps[-1].final else SOLVER
    return Continuation() if steps[-1].final else Continuation(new_sequence=tuple(_solved(play, steps)))


def _after_step(play: Play) -> Continuation:
    """Note a step of the solver, and open the verifier's sequence."""
    steps, turn = _read(play.notes.get(NOTE, ())), play.turns[-1]
    executed = bool(turn.replies) and all(reply.status == "ok" for reply in turn.replies)
    final = not turn.parsed.calls and not turn.parsed.errors
    step = Step(len(play.turns) - 1, step_text(turn.parsed), executed, final)
    if play.notes.get(ROLE) == REPAIR:
        steps[-1] = step._replace(verdicts=steps[-1].verdicts)
    else:
        steps.append(step)
    _write(play, steps)
    play.notes[ROLE] = VERIFIER
    asked = Message("user", f"check {step.text}", name=SPEAKER)
    return Continuation(new_sequence=(*initial_messages(play.messages, turns=len(play.turns)), asked))


def _solved(play: Play, steps: Sequence[Step]) -> list[Message]:
    """Opening, and the solver's accepted steps with the replies to their calls."""
    found = initial_messages(play.messages, turns=len(play.turns))
    places = turn_positions(play.messages, turns=len(play.turns))
    for step in steps:
        place = places[step.turn]
        found.append(play.messages[place])
        while (place := place + 1) < len(play.messages) and play.messages[place].role == "tool":
            found.append(play.messages[place])
    return found


def _write(play: Play, steps: Sequence[Step]) -> None:
    play.notes[NOTE] = [[*step[:4], [list(verdict) for verdict in step.verdicts]] for step in steps]


def _read(noted: Sequence[Any]) -> list[Step]:
    return [
        Step(turn, text, tool, final, tuple(Verdict(*verdict) for verdict in verdicts))
        for turn, text, tool, final, verdicts in noted
    ]
