"""Judge that gathers tool results about a task, and scores answers by their likelihood given these results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Copyable, Engine, EnvFactory, Measures, StageContext
from handaxe.core.records import Group, Message, Sampling, Task, ToolSchema, Trajectory
from handaxe.core.requests import Attempt, Measure
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.driver import run
from handaxe.rollouts.linear import linear

__all__ = ["KnowledgeJudge", "answer_probability", "knowledge_ids"]

SAMPLING = Sampling(temperature=0.0, max_tokens=48)


def knowledge_ids(judged: Trajectory) -> list[int]:
    """Ids of a rollout of the judge up to its answer: task, calls and tool results. A rollout that ends with a call has
    all of its ids.

    Example:
        question, call, result, answer  ->  question, call, result
    """
    last = judged.turns[-1]
    sequence = judged.sequences[last.sequence]
    ids = [int(one) for one in sequence.ids]
    return ids if last.parsed.calls or last.parsed.errors else ids[: last.start]


def answer_probability(logp_T: list[float]) -> float:
    """Geometric mean of the probabilities of the tokens of an answer, exp(mean logp); 0 without a token.

    Example:
        probabilities 0.5 and 0.125  ->  0.25
    """
    return float(np.exp(np.mean(logp_T))) if logp_T else 0.0


class KnowledgeJudge:
    """Scores answers by a copy of the first policy, after the copy has called tools about the task.

        K        = calls and results of one greedy rollout of the judge on the task, with the offered tools
        score_i  = exp(mean over the tokens of answer i of log p(token | task, K, tokens before))

    The judge selects the tools and their arguments itself. Without tools K is empty, and the score is the likelihood
    under the policy alone: a self-judge. An empty answer, and one that does not fit into the context, has the score 0.

    Args:
        max_turns: of the judge's rollout.

    Raises:
        InputError: a score before `bind`; an engine without twins or without `measure`.

    Example:
        "57*83=?", calculator "57*83" returns "4731"; the tokens of an answer have the probabilities 0.5 and 0.125
        ->  the answer scores 0.25

    Paper: arXiv:2504.19276 (Anyprefer), a judge with tool results as knowledge base.
    Unconfirmed: how tool results enter the score.
    Differs: likelihoods of answers; a language model writes grades in the paper.
    """

    def __init__(self, *, max_turns: int = 3):
        self._max_turns = max_turns
        self._engine: Engine | None = None
        self._format: ChatFormat | None = None

    def bind(self, site: StageContext) -> None:
        """Copy the policy of a stage, unless there is a copy."""
        if self._engine is not None:
            return
        if not isinstance(site.engine, Copyable) or not isinstance(site.engine, Measures):
            raise InputError(
                f"{type(site.engine).__name__} has no twins or no measures, so no judge can score by likelihood: use "
                "another engine; see protocols.Copyable and protocols.Measures"
            )
        self._engine = site.engine.twin()
        self._format = site.format

    def gather(self, task: Task, *, env: EnvFactory, tools: tuple[str, ...]) -> Trajectory:
        """Play the judge on a task with these tools."""
        attempt = Attempt(
            task=replace(task, tools=tools),
            env=env,
            format=self._known_format,
            sampling=SAMPLING,
            id=f"{task.id}/judge",
            sample=0,
            seed=derive_seed("judge", task.id),
            context=self._known.max_length,
        )
        return run([attempt], linear(max_turns=self._max_turns), self._known, workers=1, lockstep=True)[0][0]

    def score(self, group: Group, *, env: EnvFactory, tools: tuple[str, ...]) -> np.ndarray:
        """[G] scores, 0 to 1; NaN for all if a tool failed by no fault of the judge, or if the judge had no room."""
        judged = self.gather(group.task, env=env, tools=tools)
        if judged.ending.kind == "infra_error" or not judged.turns:
            return np.full(len(group), np.nan)
        ids, offered = knowledge_ids(judged), judged.tools
        return np.array([self._score(ids, one.final_text.strip(), offered) for one in group], np.float64)

    def _score(self, ids: list[int], text: str, tools: tuple[ToolSchema, ...]) -> float:
        answer = list(self._known_format.encode_turn(Message("assistant", text), tools))
        if not text or len(ids) + len(answer) > self._known.max_length:
            return 0.0
        assert isinstance(self._known, Measures)
        (found,) = self._known.measure([Measure([*ids, *answer], len(ids))])
        return answer_probability(found["logp"])

    @property
    def _known(self) -> Engine:
        if self._engine is None:
            raise InputError("this judge has no model yet: call bind with the context of a stage")
        return self._engine

    @property
    def _known_format(self) -> ChatFormat:
        if self._format is None:
            raise InputError("this judge has no chat format yet: call bind with the context of a stage")
        return self._format
