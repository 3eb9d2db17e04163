"""Reward model with calls of tools and a rationale before the score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.heads import Head, head_measure
from handaxe.core.protocols import ChatFormat, Copyable, Engine, EnvFactory, Labelled, Loss, StatefulEngine
from handaxe.core.records import (
    Advantages,
    Author,
    Group,
    Message,
    RatedGroup,
    Sampling,
    Scores,
    Task,
    ToolCall,
    Trajectory,
)
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.judges.reward_model import NAME, RewardModel, reward_model
from handaxe.ops.ragged import channel_values
from handaxe.ops.seeds import derive_seed
from handaxe.papers.themis.joint_losses import Reads, check_reads, joint_batch, joint_loss
from handaxe.papers.themis.token_means import token_means
from handaxe.rollouts.driver import run
from handaxe.rollouts.linear import linear
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.loop.schedule import cosine
from handaxe.training.loop.update import mean_metrics, optimiser_step
from handaxe.training.sft.supervised import in_batches, pair_pieces
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert, Facts

__all__ = ["ToolJudge", "judging_task", "tool_judge", "trace"]

Calls = Callable[[Task], Sequence[ToolCall]]
"""Task -> calls that decide an answer, in order."""
TURNS = 4
"""Turns of a conversation at most."""
SAMPLING = Sampling(temperature=0.0, max_tokens=48)


def judging_task(trajectory: Trajectory) -> Task:
    """Make the task of the judge: the question of the policy, and the answer on another line.

    The answer is text of the user's turn, so that it can contain neither a tool result nor an end of the turn.

    Example:
        question "57*83=?" and answer "4731"  ->  "57*83=?\\n4731"
    """
    asked = [one.content for one in trajectory.task.messages if one.role == "user"]
    text = "\n".join([*asked, trajectory.final_text.strip()])
    return Task(f"judge-{derive_seed('judging task', text)}", (Message("user", text),))


def trace(calls: Sequence[ToolCall], answer: str) -> Expert:
    """Write a trace for the training of the judge: the calls, a turn each, then the last result beside the answer.

    Both sides of a pair have the same calls, and the trace does not tell which answer is better: the score learns that.

    Args:
        calls: of the task.
        answer: that is judged.

    Example:
        one call with the result 4731, answer 4781  ->  the call, then "4731 4781"
        no call                                     ->  an empty turn: nothing is written before the score

    Idea: traces of tool calls with a rationale; Themis (arXiv:2310.01045) has them written by language models.
    """

    def speaker(task: Task, facts: Facts) -> Message:
        del task
        if facts["turn"] < len(calls):
            return Message("assistant", "", (calls[facts["turn"]],))
        if not calls:
            return Message("assistant", "")
        return Message("assistant", f"{facts['replies'][-1]} {answer}")

    return speaker


def tool_judge(
    *,
    tools: Sequence[Any],
    calls: Calls,
    format: ChatFormat | None = None,
    preference: float = 0.5,
    epochs: int = 1,
    batch_size: int = 16,
    learning_rate: float = 1e-3,
    rows: int = 64,
    most: int = 4,
    channel: str | None = None,
    learn_results: bool = True,
    reads: Reads = "last",
) -> ToolJudge:
    """Make a reward model that judges an answer in a separate conversation, with tools.

        question, answer -> call -> result -> ... -> rationale -> r = head of the state after the last token

    Without tools the conversation is question, answer and an empty turn: a reward model of the usual form. It learns
    from pairs of rollouts of one task with unequal outcomes: the traces of both are played with the real tools, and
    `joint_loss` trains text and score. A score is read from a trace that the judge itself writes, at temperature 0.

    Args:
        tools: of the judge; () for none.
        calls: (task) -> calls of the traces to learn from; not used for scores, nor without tools.
        format: chat format of the policy; None until `bind`.
        preference: weight of the preference, see `joint_loss`.
        epochs: passes over the pairs; 5 in the paper.
        batch_size: pairs of an optimizer step; 64 in the paper.
        learning_rate: maximum of a cosine schedule; 1e-5 in the paper, for 7B parameters.
        rows: rows of a forward and backward pass at most.
        most: pairs of a group at most.
        channel: of the training rewards, with the true outcome, for the metric agreement; None: their outcome.
        learn_results: learn the results of tools as text, see `joint_batch`.
        reads: "last" is the score of the last token, "mean" the mean score of all tokens, see `joint_batch`.

    Returns:
        A judge that is a PairJudge (sigmoid(score_a - score_b)), Fittable, and a Learner that learns nothing in the
        loop. Its model starts as a copy of the policy.

    Raises:
        InputError: an argument out of range, or another word for reads; a score before `bind`; an engine without
            twins.
        VerifierError: a tool failed by no fault of the judge.

    Example:
        "57*83=?" with the answer 4731: calculator 57*83, result 4731, "4731 4731", score 2.1

    Paper: arXiv:2310.01045 (Themis), inference and training as in its released code.
    Differs: the head has a bias, without effect on pairs; calls are written in the chat format of the policy.
    """
    if min(epochs, batch_size, rows, most) < 1 or learning_rate <= 0:
        raise InputError(
            f"give epochs, batch_size, rows and most from 1 and a learning_rate above 0, not {epochs}, {batch_size}, "
            f"{rows}, {most} and {learning_rate}"
        )
    check_reads(reads)
    return ToolJudge(
        env=tool_chat(tools),
        calls=calls if tools else _no_calls,
        format=format,
        loss=joint_loss(preference=preference),
        updates=_Updates(epochs, batch_size, learning_rate, rows, most),
        plays=bool(tools),
        channel=channel,
        learn_results=learn_results,
        reads=reads,
    )


def _no_calls(task: Task) -> Sequence[ToolCall]:
    del task
    return ()


def _rated(group: Group, scores: Scores) -> RatedGroup:
    nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
    return RatedGroup.of(group, scores, Advantages(nothing), trained=np.ones(len(group), bool))


def _agreement(groups: Sequence[RatedGroup], channel: str | None) -> float:
    """Share of pairs of unequal truth in the order of the outcome, 1/2 for an equal outcome or without a pair."""
    gaps = [np.zeros(0)]
    for one in groups:
        outcome_G, truth_G = channel_values(one.scores, None), channel_values(one.scores, channel)
        gaps.append(np.subtract.outer(outcome_G, outcome_G)[np.greater.outer(truth_G, truth_G)])
    gap_P = np.concatenate(gaps)
    return float((0.5 + np.sign(gap_P) / 2).mean()) if len(gap_P) else 0.5


class _Updates(NamedTuple):
    """Sizes of the fit."""

    epochs: int
    batch_size: int
    learning_rate: float
    rows: int
    most: int


class _Seen:
    """Counts of conversations since the last step; a metric and no state of the judge."""

    def __init__(self) -> None:
        self._counts = np.zeros(4)

    def add(self, found: Sequence[Trajectory]) -> None:
        for one in found:
            answered = any(reply.status == "ok" for reply in one.replies)
            self._counts += (1.0, float(len(one.calls)), float(answered), float(one.num_tokens))

    def metrics(self) -> dict[str, float]:
        count, calls, answered, tokens = (float(one) for one in self._counts)
        size = max(count, 1.0)
        return {"conversations": count, "calls": calls / size, "answered": answered / size, "tokens": tokens / size}


class ToolJudge:
    """See `tool_judge`."""

    def __init__(
        self,
        *,
        env: EnvFactory,
        calls: Calls,
        format: ChatFormat | None,
        loss: Loss,
        updates: _Updates,
        plays: bool,
        channel: str | None,
        learn_results: bool,
        reads: Reads,
    ):
        self._env = env
        self._calls = calls
        self._known_format = format
        self._loss = loss
        self._updates = updates
        self._plays = plays
        self._channel = channel
        self._learn_results = learn_results
        self._reads = reads
        self._engine: StatefulEngine | None = None
        self._model: RewardModel | None = None
        self._seen = _Seen()

    def bind(self, engine: Engine, format: ChatFormat) -> None:
        """Copy the policy and keep the chat format, unless both are known."""
        self._known_format = self._known_format or format
        self.begin(engine)

    def begin(self, engine: Engine) -> None:
        """Copy the policy with a head, unless a copy exists."""
        if self._engine is not None:
            return
        if not isinstance(engine, Copyable):
            raise InputError(
                f"{type(engine).__name__} has no twins, so a judge cannot start as a copy of the policy: use another "
                "engine; see protocols.Copyable"
            )
        self._engine = engine.twin(heads={NAME: Head()})
        self._model = reward_model(engine=self._engine, learns=False)

    # --- scoring ---------------------------------------------------------------------------------------------------

    def conversations(self, group: Group, *, env: EnvFactory | None = None) -> list[Trajectory]:
        """Judge the answers of a group: a conversation of the judge for each rollout.

        Args:
            group: rollouts with an answer each.
            env: other tools with the same names, such as tools with random results; None for the judge's.

        Raises:
            VerifierError: a tool failed by no fault of the judge.
        """
        tasks = [judging_task(one) for one in group]
        if not self._plays:
            return [self._scripted(task, (), "") for task in tasks]
        attempts = [
            Attempt(
                task=task,
                env=env or self._env,
                format=self._format,
                sampling=SAMPLING,
                id=f"{task.id}/{k}",
                sample=0,
                seed=derive_seed(task.id),
                context=self._own.max_length,
            )
            for k, task in enumerate(tasks)
        ]
        played = run(attempts, linear(max_turns=TURNS), self._own, workers=1, lockstep=True)
        found = [one for own in played for one in own]
        for one, rollout in zip(found, group, strict=True):
            if one.ending.kind in NEVER_SCORED:
                raise VerifierError(f"a tool of the judge failed: {one.ending.reason}", trajectory=rollout.id)
        return found

    def score_conversations(self, found: Sequence[Trajectory]) -> np.ndarray:
        """[N]: score after the last token of each conversation, or the mean score of its tokens; 0 without a token."""
        if self._model is None:
            raise InputError("this judge has no model yet: list it in learners= of train, or call bind")
        if self._reads == "mean":
            return token_means(self._own, found, name=head_measure(NAME))
        return self._model.score(Group(found[0].task, tuple(found))) if found else np.zeros(0)

    def score(self, group: Group) -> np.ndarray:
        """[G]: scores of the answers."""
        found = self.conversations(group)
        self._seen.add(found)
        return self.score_conversations(found)

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P]: sigmoid(score of the first - score of the second)."""
        flat = tuple(one for pair in pairs for one in pair)
        score_2P = self.score(Group(flat[0].task, flat)) if flat else np.zeros(0)
        return np.asarray(1 / (1 + np.exp(score_2P[1::2] - score_2P[0::2])))

    # --- learning --------------------------------------------------------------------------------------------------

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Learn traces and preferences from rollouts of a task with unequal outcomes.

        Returns:
            Metrics of the updates, means over steps, with pairs; {"pairs": 0} without a pair.
        """
        pairs = ordered(most=self._updates.most)([_rated(group, scores) for group, scores in labelled])
        played = [(self._trace(one.chosen), self._trace(one.rejected)) for one in pairs]
        size, passes = self._updates.batch_size, self._updates.epochs
        rate = cosine(self._updates.learning_rate, steps=max(1, passes * -(-len(played) // size)))
        taken = []
        for step, chosen in enumerate(in_batches(len(played), size, passes, seed=self._own.version)):
            batch = joint_batch(
                [played[i] for i in chosen],
                pad_id=self._own.pad_id,
                learn_results=self._learn_results,
                reads=self._reads,
            )
            pieces = pair_pieces(batch, self._updates.rows)
            taken.append(optimiser_step(self._own, self._loss, pieces, rate(step)))
        return {**(mean_metrics(taken) if taken else {}), "pairs": float(len(played))}

    def result_losses(self, rollouts: Sequence[Trajectory]) -> np.ndarray:
        """[N]: mean cross-entropy of the tool results in the trace of each rollout, in nats per token."""
        return -token_means(self._own, [self._trace(one) for one in rollouts], name="logp", author=Author.TOOL)

    def _trace(self, rollout: Trajectory) -> Trajectory:
        return self._scripted(judging_task(rollout), self._calls(rollout.task), rollout.final_text.strip())

    def _scripted(self, task: Task, calls: Sequence[ToolCall], answer: str) -> Trajectory:
        return demonstrate(self._env, task, trace(calls, answer), format=self._format, max_turns=TURNS)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn nothing.

        Returns:
            conversations since the last call, with the means of calls and tokens, and answered, the share with a
            result of a tool; agreement, the share of pairs of siblings with unequal truth in the order of the reward.
        """
        del step
        found, self._seen = self._seen, _Seen()
        return {**found.metrics(), "agreement": _agreement(groups, self._channel)}

    def state_dict(self) -> dict[str, Any]:
        return {"engine": None if self._engine is None else self._engine.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["engine"] is not None:
            self._own.load_state_dict(state["engine"])

    @property
    def _own(self) -> StatefulEngine:
        if self._engine is None:
            raise InputError("this judge has no model yet: list it in learners= of train, or call bind")
        return self._engine

    @property
    def _format(self) -> ChatFormat:
        if self._known_format is None:
            raise InputError("this judge has no chat format yet: call bind, or give it a format")
        return self._known_format
