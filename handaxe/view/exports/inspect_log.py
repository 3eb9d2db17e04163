"""Exports trajectories as an Inspect log for `inspect view`: https://inspect.aisi.org.uk

A trajectory is a sample; trajectories of a task are epochs. The writer of inspect_ai writes the log. Inspect renders
bidirectional marks, so these and all invisible characters are written out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import handaxe
from handaxe.core.errors import InputError
from handaxe.core.escape import escape
from handaxe.core.images import Image, name_images, split_images
from handaxe.core.records import Message, ToolReply, Trajectory
from handaxe.ops import codec
from handaxe.view.exports.chosen import ChosenTrajectory

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalResults, EvalSample
    from inspect_ai.model import ChatMessage
    from inspect_ai.scorer import Score

__all__ = ["to_log", "write_inspect"]

SUFFIXES = (".eval", ".json")
LIMITS = {"length": "context", "turns": "turn", "budget": "custom", "stopped": "custom"}
"""Reason of a truncation -> limit type of Inspect."""
ERRORS = {"timeout": "timeout", "invalid": "parsing"}
"""Status of a reply -> error type of Inspect; other statuses are "unknown"."""


def write_inspect(chosen: Iterable[ChosenTrajectory], file: Path, *, title: str, model: str = "handaxe") -> int:
    """Write a log with a sample per trajectory; returns the number of samples.

    Args:
        chosen: trajectories to write.
        file: with the extension .eval, which Inspect reads sample by sample, or .json.
        title: of the task in `inspect view`, such as the name of the run.
        model: name of the model in the log.

    Raises:
        InputError: inspect_ai is not installed, or the file cannot be written or has another extension.
    """
    if file.suffix not in SUFFIXES:
        raise InputError(f"{file} is no name of an Inspect log; let it end in {' or '.join(SUFFIXES)}")
    log = to_log(chosen, title=title, model=model)
    from inspect_ai.log import write_eval_log

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_eval_log(log, str(file.absolute()))
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error}") from error
    return len(log.samples or ())


def to_log(chosen: Iterable[ChosenTrajectory], *, title: str, model: str = "handaxe") -> EvalLog:
    """Make the log of `write_inspect`.

    Scores are the reward (reward; also reward_total with turn rewards), the channels, and the outcome class (outcome).
    Unscored trajectories have only the outcome class. Infrastructure failures have an error, truncated ones a limit.
    """
    try:
        from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, EvalStats
    except ImportError as error:
        raise InputError("a log of Inspect needs the package inspect_ai; install handaxe[inspect]") from error
    epochs, samples = Counter[str](), list["EvalSample"]()
    for one in chosen:
        task = _text(one.trajectory.task.id)
        epochs[task] += 1
        samples.append(_sample(one, task, epochs[task], model))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    even = len(set(epochs.values())) == 1  # else Inspect would show partial epochs
    return EvalLog(
        status="success",
        stats=EvalStats(started_at=now, completed_at=now),
        eval=EvalSpec(
            created=now,
            task=title,
            model=model,
            dataset=EvalDataset(name=title, samples=len(epochs), sample_ids=list(epochs)),
            config=EvalConfig(epochs=max(epochs.values()) if even else None),
            packages={"handaxe": handaxe.__version__},
        ),
        results=_results(samples),
        samples=samples,
    )


def _sample(one: ChosenTrajectory, task: str, epoch: int, model: str) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample, EvalSampleLimit
    from inspect_ai.model import ModelOutput, ModelUsage

    trajectory = one.trajectory
    replies = {reply.call_id: reply for reply in trajectory.replies}
    messages = [_message(message, replies, model) for message in trajectory.messages]
    opening = len(trajectory.task.messages)
    given, kind = sum(len(s) for s in trajectory.sequences), trajectory.ending.kind
    reason = _text(trajectory.ending.reason) or kind
    usage = ModelUsage(
        input_tokens=given - trajectory.num_tokens, output_tokens=trajectory.num_tokens, total_tokens=given
    )
    failed, cut = kind in ("infra_error", "verifier_error"), kind == "truncated"
    return EvalSample(
        id=task,
        epoch=epoch,
        input=messages[:opening],
        target=_target(trajectory.task.answer),
        messages=messages,
        output=ModelOutput.from_content(model, _text(trajectory.final_text), stop_reason=_stop(trajectory)),
        scores=_scores(one),
        metadata=_metadata(one),
        model_usage={model: usage},
        total_time=trajectory.seconds,
        error=EvalError(message=reason, traceback=reason, traceback_ansi=reason) if failed else None,
        limit=EvalSampleLimit(type=LIMITS.get(reason, "custom"), limit=0, reason=reason) if cut else None,  # type: ignore
    )


def _stop(trajectory: Trajectory) -> Any:
    return "max_tokens" if trajectory.turns and trajectory.turns[-1].finish == "length" else "stop"


def _message(message: Message, replies: Mapping[str, ToolReply], model: str) -> ChatMessage:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall, ToolCallError

    text = _text(name_images(message.content, message.images))
    content = _parts(message) if message.images else text
    if message.role == "system":
        return ChatMessageSystem(content=text)
    if message.role == "user":
        return ChatMessageUser(content=content)
    if message.role == "assistant":
        calls = [ToolCall(_text(one.id), _text(one.name), _plain(one.arguments)) for one in message.calls]
        return ChatMessageAssistant(content=text, tool_calls=calls or None, model=model, source="generate")
    reply = replies.get(message.call_id)
    failed = reply is not None and reply.status != "ok"
    error = ToolCallError(ERRORS.get(reply.status, "unknown"), text) if reply is not None and failed else None  # type: ignore
    return ChatMessageTool(
        content=content, tool_call_id=_text(message.call_id) or None, function=_text(message.name) or None, error=error
    )


def _parts(message: Message) -> list[Any]:
    """Texts and images, as data: URLs."""
    from inspect_ai.model import ContentImage, ContentText

    parts = split_images(message.content, message.images)
    return [
        ContentImage(image=part.data_url) if isinstance(part, Image) else ContentText(text=_text(part))
        for part in parts
    ]


def _scores(one: ChosenTrajectory) -> dict[str, Score]:
    from inspect_ai.scorer import Score

    answer = _text(one.trajectory.final_text)
    why = None if one.no_gradient is None else f"no gradient: {one.no_gradient.text}"
    found = {"outcome": Score(value=one.outcome_class, answer=answer, explanation=why)}
    values = {"reward": one.outcome, **{f"channel {name}": value for name, value in one.channels.items()}}
    if one.turns is not None:
        values["reward_total"] = one.total
    finite = {name: value for name, value in values.items() if np.isfinite(value)}
    return found | {_text(name): Score(value=value, answer=answer) for name, value in finite.items()}


def _metadata(one: ChosenTrajectory) -> dict[str, Any]:
    """Values without a field in Inspect. `jsonl` and `dataset` have the tokens."""
    trajectory = one.trajectory
    drawn = [s.version[s.mask & ~s.forced] for s in trajectory.sequences]
    versions = sorted({int(version) for own in drawn for version in own})
    turns = [] if one.advantages is None else trajectory.turns
    means = [float(np.mean(one.advantages[t.sequence][t.start : t.stop])) for t in turns] if one.advantages else []
    return {
        "trajectory": _text(trajectory.id),
        "step": one.step,
        "group": one.fate,
        "trained": one.trained,
        "no_gradient": "" if one.no_gradient is None else one.no_gradient.kind,
        "left_out_by": one.left_out_by,
        "ending": trajectory.ending.kind,
        "weights": versions,
        "advantage_by_turn": [value if np.isfinite(value) else None for value in means],
        "turn_rewards": None if one.turns is None else one.turns.tolist(),
        "malformed_calls": [_text(error) for turn in trajectory.turns for error in turn.parsed.errors],
        "environment": _plain(trajectory.env),
    }


def _results(samples: list[EvalSample]) -> EvalResults:
    """Mean of each numeric score over the samples with the score."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    found: dict[str, list[float]] = {}
    for sample in samples:
        for name, score in (sample.scores or {}).items():
            if isinstance(score.value, float):
                found.setdefault(name, []).append(score.value)
    scores = [
        EvalScore(
            name=name,
            scorer=name,
            scored_samples=len(values),
            unscored_samples=len(samples) - len(values),
            metrics={"mean": EvalMetric(name="mean", value=float(np.mean(values)))},
        )
        for name, values in found.items()
    ]
    return EvalResults(total_samples=len(samples), completed_samples=len(samples), scores=scores)


def _target(answer: Any) -> str:
    return _text(answer) if isinstance(answer, str) else "" if answer is None else codec.dump_json(answer, {})


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Convert to JSON values; values unknown to JSON are tagged as in `ops.codec`."""
    found = json.loads(codec.dump_json(dict(value), {}), parse_constant=str)
    clean = _clean(found)
    return clean if isinstance(clean, dict) else {"value": clean}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _text(text: str) -> str:
    """Write out invisible characters, which Inspect would render."""
    return escape(text, keep="\n\t")
