"""Asks a language model a yes-or-no question, and reads the probabilities of the token that separates the two
answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import name_images
from handaxe.core.protocols import ChatFormat, Measures
from handaxe.core.records import Criterion, Group, Message, Trajectory
from handaxe.core.requests import Measure

__all__ = ["Ask", "VerdictToken", "transition_question", "turn_question", "verdict_token"]

Ask = Callable[[Trajectory, int, "Criterion | None"], "str | Message"]
"""(trajectory, turn number, criterion or None) -> question with the answers yes and no; a message of the user if the
question has images.
"""
STEP_IS_CORRECT = "Was this step right?"
BROUGHT_ABOUT = "This step has brought it about:"


def turn_question(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    """The default question: task, turn and tool results, each as JSON, so that no text of a rollout can end its field,
    and the criterion's text.

    Example:
        'task: "2*7=?"', 'did: "calculator 2*7"', 'then: "14"' and 'Was this step right? yes or no?', a line each
    """
    own, last = trajectory.turns[turn], trajectory.task.messages[-1]
    fields = {
        "task": name_images(last.content, last.images),
        "did": own.parsed.raw,
        "then": "\n".join(name_images(reply.content, reply.images) for reply in own.replies),
    }
    lines = [f"{name}: {json.dumps(text)}" for name, text in fields.items()]
    return "\n".join([*lines, f"{STEP_IS_CORRECT if criterion is None else criterion.text} yes or no?"])


def transition_question(ask: Ask) -> Ask:
    """Wrap a question: whether the step has brought the criterion about, not whether the criterion holds after the
    step.

    Example:
        a criterion "It holds the key."  ->  "This step has brought it about: It holds the key. yes or no?"
    """

    def question(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str | Message:
        transition = criterion and replace(criterion, text=f"{BROUGHT_ABOUT} {criterion.text}")
        return ask(trajectory, turn, transition)

    return question


def verdict_token(
    *,
    engine: Measures,
    format: ChatFormat,
    ask: Ask = turn_question,
    yes: str = "yes",
    no: str = "no",
    threshold: float = 0.5,
    batch_size: int = 64,
) -> VerdictToken:
    """Make a judge with one question a turn, answered by probabilities and not by sampling.

        p_k = P(yes) / (P(yes) + P(no)) = sigmoid(log P(yes) - log P(no))

    P is the probability of the first token that separates "yes" from "no", after the rendered question (and the shared
    start of both answers), at temperature 1. Nothing is sampled, so equal turns have equal scores.

    Args:
        engine: the model; any engine with log-prob measurements, such as `LocalEngine`.
        format: chat format of the model.
        ask: renders the question.
        yes, no: the two answers; neither is the start of the other.
        threshold: `check` counts a criterion as met if p is above it, 0 to 1.
        batch_size: questions a call of the engine.

    Returns:
        A judge and StepJudge: score_steps gives p of each turn, score their mean, 0 for a rollout without a turn.
        `check` is a `protocols.Check`: the answer for each criterion and turn; a met criterion stays met. It does not
        learn.

    Raises:
        InputError: answers without a separating token, a number out of range. The engine refuses questions beyond the
            model's context.

    Example:
        log P(yes) -0.5, log P(no) -1.5  ->  p = 0.7311, above the threshold 0.5: met

    Idea: the probability of a verdict token is a score without sampling, as in generative verifiers; for transitions in
    arXiv:2409.12798 (CALM).
    Unconfirmed: CALM's question; its abstract alone was read.
    """
    if not 0 <= threshold <= 1 or batch_size < 1:
        raise InputError(
            f"verdict_token has threshold={threshold} and batch_size={batch_size}; give 0 to 1, and 1 or more"
        )
    yes_ids, no_ids = (format.encode_turn(Message("assistant", word), ()) for word in (yes, no))
    common = next((k for k, (a, b) in enumerate(zip(yes_ids, no_ids)) if a != b), None)
    if common is None or min(len(yes), len(no)) == 0:
        raise InputError(f"no token separates {yes!r} from {no!r}; give two answers, neither the start of the other")
    return VerdictToken(engine, format, ask, yes_ids[: common + 1], no_ids[: common + 1], threshold, batch_size)


class VerdictToken:
    """See `verdict_token`."""

    def __init__(
        self,
        engine: Measures,
        format: ChatFormat,
        ask: Ask,
        yes: list[int],
        no: list[int],
        threshold: float,
        batch_size: int,
    ):
        self._engine = engine
        self._format = format
        self._ask = ask
        self._answers = (yes, no)
        self._threshold = threshold
        self._batch_size = batch_size

    def score(self, group: Group) -> np.ndarray:
        """[G]: means over steps."""
        return np.array([own.mean() if len(own) else 0.0 for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        chance = self.probabilities([self._ask(one, k, None) for one in group for k in range(len(one.turns))])
        return tuple(np.split(chance, np.cumsum([len(one.turns) for one in group])[:-1])) if len(group) else ()

    def check(self, trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        """[C, N] bool: criteria met after turn n."""
        turns = range(len(trajectory.turns))
        chance = self.probabilities([self._ask(trajectory, k, one) for one in criteria for k in turns])
        met_CN = chance.reshape(len(criteria), len(turns)) > self._threshold
        return np.logical_or.accumulate(met_CN, axis=1)

    def probabilities(self, questions: Sequence[str | Message]) -> np.ndarray:
        """[Q] p of each question, in order."""
        out = np.zeros(len(questions))
        for start in range(0, len(questions), self._batch_size):
            requests = []
            for question in questions[start : start + self._batch_size]:
                asked = question if isinstance(question, Message) else Message("user", question)
                opening = self._format.start((asked,), ()).ids
                requests += [
                    Measure([*opening, *answer], len(opening) + len(answer) - 1, images=asked.images)
                    for answer in self._answers
                ]
            logp = np.array([one["logp"][0] for one in self._engine.measure(requests)], np.float64)
            out[start : start + self._batch_size] = 1 / (1 + np.exp(logp[1::2] - logp[0::2]))
        return out
