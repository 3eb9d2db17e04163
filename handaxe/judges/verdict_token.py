"""Asks a language model yes or no, and reads how probable each is at the one token that tells them apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Measures
from handaxe.core.records import Criterion, Group, Message, Trajectory
from handaxe.core.requests import Measure

__all__ = ["Ask", "VerdictToken", "about_turn", "just_now", "verdict_token"]

Ask = Callable[[Trajectory, int, "Criterion | None"], str]
"""(attempt, number of a turn, a criterion or None) -> the question, which is answered by yes or no."""
RIGHT = "Was this step right?"
JUST_NOW = "This step has brought it about:"


def about_turn(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    """The question that is asked unless told otherwise: the task, what the turn did and what came of it, each as JSON,
    so that nothing said in an attempt can end its field, and then the criterion's text.

    Example:
        'task: "2*7=?"', 'did: "calculator 2*7"', 'then: "14"' and 'Was this step right? yes or no?', a line each
    """
    own = trajectory.turns[turn]
    fields = {
        "task": trajectory.task.messages[-1].content,
        "did": own.parsed.raw,
        "then": "\n".join(reply.content for reply in own.replies),
    }
    told = [f"{name}: {json.dumps(text)}" for name, text in fields.items()]
    return "\n".join([*told, f"{RIGHT if criterion is None else criterion.text} yes or no?"])


def just_now(ask: Ask) -> Ask:
    """What asks whether a step has brought a criterion about, and not whether it is met after it.

    Example:
        a criterion "It holds the key."  ->  "This step has brought it about: It holds the key. yes or no?"
    """

    def asked(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
        told = criterion and replace(criterion, text=f"{JUST_NOW} {criterion.text}")
        return ask(trajectory, turn, told)

    return asked


def verdict_token(
    *,
    engine: Measures,
    format: ChatFormat,
    ask: Ask = about_turn,
    yes: str = "yes",
    no: str = "no",
    threshold: float = 0.5,
    most: int = 64,
) -> VerdictToken:
    """Make a judge that is asked about every turn, and never has to write its answer.

        p_k = P(yes) / (P(yes) + P(no)) = sigmoid(log P(yes) - log P(no))

    P is the chance of the first token by which "yes" and "no" differ, after the rendered question (and what both begin
    with), at temperature 1. Nothing is drawn, so that it says the same of the same turn.

    Args:
        engine: the model; any engine that measures, such as `LocalEngine`.
        format: how it is spoken to.
        ask: renders the question.
        yes, no: the two answers, of which neither begins the other.
        threshold: a criterion is met, as `check` tells, where p is above this, 0 to 1.
        most: questions that the engine is asked at a time.

    Returns:
        A judge and StepJudge: score_steps gives p of each turn, score their mean, 0 for an attempt without a turn.
        `check` is a `slots.Check`: for each criterion and turn whether the question about both is answered by yes;
        what was met stays met. It learns nothing.

    Raises:
        InputError: yes and no that no token tells apart, a number out of range. What does not fit into the model's
            context, the engine refuses.

    Example:
        log P(yes) -0.5, log P(no) -1.5  ->  p = 0.7311, above the threshold 0.5: met

    Idea: the chance of a verdict's token is a score that needs no sampling, as generative verifiers have it; asked of
    transitions in arXiv:2409.12798 (CALM).
    Unconfirmed: how CALM asks; its abstract alone was read.
    """
    if not 0 <= threshold <= 1 or most < 1:
        raise InputError(f"verdict_token has threshold={threshold} and most={most}; give 0 to 1, and 1 or more")
    said_yes, said_no = (format.encode_turn(Message("assistant", word), ()) for word in (yes, no))
    common = next((k for k, (a, b) in enumerate(zip(said_yes, said_no)) if a != b), None)
    if common is None or min(len(yes), len(no)) == 0:
        raise InputError(f"no token tells {yes!r} from {no!r}; give two answers of which neither begins the other")
    return VerdictToken(engine, format, ask, said_yes[: common + 1], said_no[: common + 1], threshold, most)


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
        most: int,
    ):
        self._engine = engine
        self._format = format
        self._ask = ask
        self._answers = (yes, no)
        self._threshold = threshold
        self._most = most

    def score(self, group: Group) -> np.ndarray:
        """[G]: means over steps."""
        return np.array([own.mean() if len(own) else 0.0 for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        chance = self.chances([self._ask(one, k, None) for one in group for k in range(len(one.turns))])
        return tuple(np.split(chance, np.cumsum([len(one.turns) for one in group])[:-1])) if len(group) else ()

    def check(self, trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        """[C, N] bool: whether each criterion is met after turn n."""
        turns = range(len(trajectory.turns))
        chance = self.chances([self._ask(trajectory, k, one) for one in criteria for k in turns])
        met_CN = chance.reshape(len(criteria), len(turns)) > self._threshold
        return np.logical_or.accumulate(met_CN, axis=1)

    def chances(self, questions: Sequence[str]) -> np.ndarray:
        """[Q] p of each question, in order."""
        out = np.zeros(len(questions))
        for start in range(0, len(questions), self._most):
            asked = []
            for question in questions[start : start + self._most]:
                opening = self._format.start((Message("user", question),), ()).ids
                asked += [Measure([*opening, *answer], len(opening) + len(answer) - 1) for answer in self._answers]
            said = np.array([one["logp"][0] for one in self._engine.measure(asked)], np.float64)
            out[start : start + self._most] = 1 / (1 + np.exp(said[1::2] - said[0::2]))
        return out
