"""Predictions of a policy for every step of the expert's rollouts."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Sampling, Task, Trajectory
from handaxe.core.requests import Sample
from handaxe.ops.seeds import derive_seed
from handaxe.papers.gta.listed_answer import listed_answer
from handaxe.papers.gta.step_metrics import Prediction
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["predict_steps"]


def predict_steps(
    *, engine: Engine, format: ChatFormat, world: World, tasks: Sequence[Task], sampling: Sampling, seed: int
) -> list[Prediction]:
    """Sample one turn after every prefix of the expert's rollouts: the policy reads reference turns and tool results.

    Args:
        engine: of the policy.
        format: of the policy.
        world: with an expert.
        tasks: one rollout of the expert each.
        sampling: of a turn.
        seed: of the turns.

    Returns:
        The predictions of all steps, in order of tasks and turns.

    Example:
        an expert's rollout zoom, ocr, answer gives three predictions: after the question, after the reply of zoom, and
        after the reply of ocr

    Paper: arXiv:2407.08713 (GTA), the step-by-step mode: step n + 1 is predicted after n reference steps.
    Differs: one call a step.
    """
    env, expert = world.env(world.tools), world.need("expert")
    played = [demonstrate(env, task, expert, format=format, rollout=world.make_rollout(8)) for task in tasks]
    places = [(one, number) for one in played for number in range(len(one.turns))]
    seeds = [derive_seed(seed, one.task.id, number) for one, number in places]
    requests = [_request(*place, format, sampling, drawn) for place, drawn in zip(places, seeds)]
    completions = engine.sample(requests)
    return [_prediction(one, number, format, made.ids) for (one, number), made in zip(places, completions, strict=True)]


def _request(one: Trajectory, number: int, format: ChatFormat, sampling: Sampling, seed: int) -> Sample:
    turn = one.turns[number]
    ids = one.sequences[turn.sequence].ids[: turn.start].tolist()
    return Sample(ids, sampling, seed, format.stop_ids, format.header_ids, turn=number, images=one.images)


def _prediction(one: Trajectory, number: int, format: ChatFormat, ids: Sequence[int]) -> Prediction:
    calls = one.turns[number].parsed.calls
    predicted = format.parse(ids, one.tools)
    correct = listed_answer(predicted.text, [[str(one.task.answer)]])
    return Prediction(calls[0] if calls else None, predicted, correct)
