"""GTA (arXiv:2407.08713): step-wise and end-to-end metrics of a tool agent on documents."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Sampling, Task, ToolCall, Trajectory
from handaxe.evaluation.evaluate import evaluate
from handaxe.methods.method import StudyFunction
from handaxe.papers.gta.category_f1 import category_f1
from handaxe.papers.gta.listed_answer import listed_answer
from handaxe.papers.gta.predict_steps import predict_steps
from handaxe.papers.gta.step_metrics import step_metrics
from handaxe.rewards.outcome import outcome
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.documents.world import documents
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["gta"]

CATEGORIES = {
    "zoom": "perception",
    "ocr": "perception",
    "read_code": "perception",
    "search": "operation",
    "calculator": "logic",
}
"""Categories of the tools. The paper's fourth category, creativity, has no tool here."""

WASTEFUL = 0.6
"""Needless calls in the demonstrations, as in the settings of the methods with this world."""

SAMPLING = Sampling(max_tokens=32)


def gta(*, tasks: int = 200) -> StudyFunction:
    """Measure the cold-start checkpoint of the world `documents` on held-out pages; nothing else is trained.

    Args:
        tasks: held-out tasks of both modes.
    """
    world = documents(needed=1.0)

    def measure(seed: int) -> dict[str, float]:
        policy = start_policy(documents(wasteful=WASTEFUL))
        engine, asked = local.LocalEngine(policy.model), world.tasks("test", tasks, seed)
        predicted = predict_steps(
            engine=engine, format=policy.format, world=world, tasks=asked, sampling=SAMPLING, seed=seed
        )
        return _step_figures(step_metrics(predicted)) | _end_figures(engine, policy.format, world, asked, seed)

    return measure


def _step_figures(steps: Mapping[str, float]) -> dict[str, float]:
    """Metrics of single steps, and the differences of consecutive metrics."""
    gaps = {"gap/tool": steps["inst_acc"] - steps["tool_acc"], "gap/arg": steps["tool_acc"] - steps["arg_acc"]}
    return {**steps, **gaps}


def _end_figures(
    engine: Engine, format: ChatFormat, world: World, tasks: Sequence[Task], seed: int
) -> dict[str, float]:
    """Play the tasks to the end: F1 of the selected tools by category, and share of correct answers."""
    pairs = list[tuple[Sequence[ToolCall], Sequence[ToolCall]]]()

    def answer(one: Trajectory) -> float:
        pairs.append((one.calls, reference_calls(one.task)))
        return listed_answer(one.final_text, [[str(one.task.answer)]])

    played = evaluate(
        engine=engine,
        format=format,
        env=world.env(world.tools),
        rollout=world.make_rollout(8),
        tasks=tasks,
        reward=outcome(answer),
        sampling=SAMPLING,
        seed=seed,
    )
    selected = {f"f1/{name}": value for name, value in category_f1(pairs, CATEGORIES).items()}
    return {**selected, "answer_acc": played.metrics["pass@1"].value}
