"""Study: the verifier of a trained policy chooses among rollouts of another policy, best of n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Message, RatedGroup, Task, Trajectory
from handaxe.evaluation.best_of import best_of_curve
from handaxe.evaluation.play_groups import play_groups
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.method import Method, StudyFunction
from handaxe.methods.run import run_built
from handaxe.methods.run_spec import run_template
from handaxe.ops.stats import interval_figures
from handaxe.papers.agent0_vl.checked_plates import checked_plates
from handaxe.papers.agent0_vl.two_roles import SPEAKER, Step, read_verdict, solver_answer, solver_steps
from handaxe.papers.agent0_vl.verified_steps import verified_steps
from handaxe.training.loop.config import RunConfig
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.plates.world import plates

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["checked_rollouts", "verifier_best_of"]

LOOKS = 3
"""Turns of a check: a call of the verifier's own, the verdict, and one more."""


def verifier_best_of(*, steps: int = 30, tasks: int = 64, samples: int = 8) -> StudyFunction:
    """Train `agent0_vl`, and let its verifier score rollouts of the cold start of another seed.

    The score of a rollout is the reward of `verified_steps` with the verdicts of the verifier, and none of the solver.

    Figures:
        best/trained, best/start   correctness of the best of all samples, by the trained policy as the verifier, and by
                                   the policy before training
        best/calls                 the same without a verdict: executed calls alone, which the reward counts too
        best/majority              of the most frequent answer of the samples
        best/oracle, single        of a perfect choice, and of a single rollout
        gain/single                best/trained less single, with /low and /high of the 95 % interval over tasks
        gain/start, gain/calls, gain/majority      best/trained less the other, with the interval
        agrees                     share of the trained verifier's verdicts with a score above 0

    Args:
        steps: of training.
        tasks: held-out tasks.
        samples: rollouts of a task.

    Example:
        two tasks with a correct rollout among two, which the verifier chooses once  ->  single 0.5, best/trained 0.5

    Paper: arXiv:2511.19900 (Agent0-VL), the verifier as process reward model of other policies, best of n.
    Differs: the other policy has the same size and other demonstrations of one world; the paper has larger ones.
    """

    def measure(seed: int) -> dict[str, float]:
        world = checked_plates()
        other = start_policy(world, seed=seed + 1)
        solver = local.LocalEngine(other.model)
        played = play_groups(solver, other.format, world, split="test", tasks=tasks, siblings=samples, seed=seed)
        method, made = _built(seed, steps)
        scored = {"calls": _without_verdicts(played)}
        scored["start"] = checked_rollouts(made["engine"], made["format"], played, seed=seed)
        run_built(method, made, RunConfig())
        scored["trained"] = checked_rollouts(made["engine"], made["format"], played, seed=seed)
        return _figures(played, scored)

    return measure


def checked_rollouts(
    verifier: Engine, format: ChatFormat, played: Sequence[RatedGroup], *, seed: int
) -> dict[str, list[Sequence[Step]]]:
    """Have every step of rollouts checked by a policy in the role of the verifier.

    Args:
        verifier, format: the policy.
        played: groups of rollouts of `two_roles`.
        seed: of the checks.

    Returns:
        Task id -> steps of each rollout, each step with one verdict; without one if its check ended early.

    Example:
        a step "0 0 2 2", and a policy that replies "4 4 6 6 .5" to "check 0 0 2 2"  ->  Verdict("4 4 6 6", -1, 0.5)
    """
    checks = list[Task]()
    for rated in played:
        for number, one in enumerate(rated.group):
            checks += [_check(rated.group.task, number, place, step) for place, step in enumerate(solver_steps(one))]
    world = replace(plates(needed=1.0), tasks=lambda split, count, seed: checks[:count], start_turns=LOOKS)
    replies = play_groups(verifier, format, world, split="test", tasks=len(checks), siblings=1, seed=seed)
    said = {one.group.task.id: one.group[0] for one in replies}
    return {
        rated.group.task.id: [
            [
                _judged(step, said.get(_check_id(rated.group.task, number, place)))
                for place, step in enumerate(solver_steps(one))
            ]
            for number, one in enumerate(rated.group)
        ]
        for rated in played
    }


def _built(seed: int, steps: int) -> tuple[Method, dict[str, Any]]:
    """The method `agent0_vl`, and the arguments of a run without a folder."""
    spec = run_template("agent0_vl").default()
    spec = replace(spec, settings=replace(spec.settings, seed=seed, steps=steps, held_out=1, eval_every=0))
    method = make_method(spec, make_world(spec))
    return method, build(spec, method=method)


def _without_verdicts(played: Sequence[RatedGroup]) -> dict[str, list[Sequence[Step]]]:
    return {
        rated.group.task.id: [[step._replace(verdicts=()) for step in solver_steps(one)] for one in rated.group]
        for rated in played
    }


def _check(task: Task, rollout: int, place: int, step: Step) -> Task:
    """The verifier's sequence of `two_roles` as a task."""
    asked = Message("user", f"check {step.text}", name=SPEAKER)
    return replace(task, id=_check_id(task, rollout, place), messages=(*task.messages, asked))


def _check_id(task: Task, rollout: int, place: int) -> str:
    return f"{task.id}-check-{rollout}-{place}"


def _judged(step: Step, check: Trajectory | None) -> Step:
    if check is None or check.ending.kind != "completed":
        return step._replace(verdicts=())
    return step._replace(verdicts=(read_verdict(check.turns[-1].parsed.text, step.text),))


def _figures(
    played: Sequence[RatedGroup], scored: Mapping[str, Mapping[str, Sequence[Sequence[Step]]]]
) -> dict[str, float]:
    truths = {one.group.task.id: one.scores.outcome for one in played}
    best = {name: _best(played, own) for name, own in scored.items()}
    majority_T = np.array([_majority(one) for one in played])
    single_T = np.array([truth_G.mean() for truth_G in truths.values()])
    verdicts = [
        step.verdicts[-1] for own in scored["trained"].values() for steps in own for step in steps if step.verdicts
    ]
    figures = {f"best/{name}": float(own_T.mean()) for name, own_T in best.items()}
    figures |= {
        "best/majority": float(majority_T.mean()),
        "best/oracle": float(np.mean([truth_G.max() for truth_G in truths.values()])),
        "single": float(single_T.mean()),
        "agrees": float(np.mean([one.score > 0 for one in verdicts])) if verdicts else 0.0,
    }
    figures |= interval_figures("gain/single", best["trained"] - single_T)
    others = {"start": best["start"], "calls": best["calls"], "majority": majority_T}
    for name, other_T in others.items():
        figures |= interval_figures(f"gain/{name}", best["trained"] - other_T)
    return dict(sorted(figures.items()))


def _best(played: Sequence[RatedGroup], steps: Mapping[str, Sequence[Sequence[Step]]]) -> np.ndarray:
    """[T] expected correctness of the rollout of the highest score; equal scores share."""
    own = {id(one): seen for rated in played for one, seen in zip(rated.group, steps[rated.group.task.id], strict=True)}
    reward = verified_steps(steps=lambda trajectory: own[id(trajectory)])
    found = [best_of_curve(reward(one.group).outcome, one.scores.outcome)[-1] for one in played]
    return np.array(found, np.float64)


def _majority(one: RatedGroup) -> float:
    """Mean correctness of the most frequent answers."""
    answers = [solver_answer(each) for each in one.group]
    counts = Counter(answers)
    most = max(counts.values())
    chosen = [counts[answer] == most for answer in answers]
    return float(np.mean(one.scores.outcome[chosen]))
