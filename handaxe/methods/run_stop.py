"""Rule of `--stop-when` and `--patience`, with early checks of metric names."""

import difflib
from collections.abc import Collection

from handaxe.core.errors import InputError
from handaxe.evaluation.estimates import columns
from handaxe.methods.method import Method, RunSettings
from handaxe.training.loop.stopping import RunStop, parse_condition
from handaxe.worlds.world import World

__all__ = ["check_closing", "check_stop", "run_stop"]

STEP_METRICS = (
    "reward",
    "reward_spread",
    "calls",
    "turns",
    "tokens",
    "groups",
    "trajectories",
    "trained_share",
    "stopped",
    "added",
    "loss",
    "grad_norm",
    "grad_clipped",
    "learning_rate",
    "optimiser_steps",
    "nothing_to_train",
)
"""Metrics of training steps without a slash. Other engines and learners add metrics with one."""
SHARES = ("endings/", "excluded/")
"""Prefixes of an evaluation's metrics of which the names depend on the rollouts."""


def check_stop(settings: RunSettings) -> None:
    """Check the rule as far as possible without a world.

    Raises:
        InputError: a condition does not parse, a metric of training steps does not exist, or the rule waits for
            evaluations between steps and there are none.
    """
    rule = _rule(settings)
    for one in rule.conditions:
        if not one.evaluated and "/" not in one.key:
            _check(one.metric, [f"training/{name}" for name in STEP_METRICS], "training steps")
    if rule.evaluated and not settings.eval_every:
        name = "--patience" if settings.patience else "--stop-when"
        raise InputError(f"{name} needs evaluations between steps: add --eval-every N")


def run_stop(settings: RunSettings, world: World) -> RunStop | None:
    """Make the rule of a run; None without a condition and without patience.

    Raises:
        InputError: a metric of evaluations does not exist; the message has the closest names.
    """
    rule = _rule(settings)
    known = [*columns((), ks=sorted({1, settings.samples})), *world.gauges, *world.statistics]
    for one in rule.conditions:
        if one.evaluated and not one.metric.startswith(SHARES):
            _check(one.metric, known, "evaluations")
    return rule if rule.conditions or rule.patience else None


def check_closing(settings: RunSettings, method: Method) -> None:
    """Raise InputError if a rule may end the run of a method that needs its last step."""
    if method.closing and (settings.stop_when or settings.patience):
        raise InputError(
            "--stop-when and --patience end a run before its last step, after which this method has further stages: "
            "leave the options out"
        )


def _rule(settings: RunSettings) -> RunStop:
    return RunStop(conditions=tuple(map(parse_condition, settings.stop_when)), patience=settings.patience)


def _check(metric: str, known: Collection[str], kind: str) -> None:
    if metric not in known:
        close = difflib.get_close_matches(metric, known, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
        raise InputError(f"--stop-when: {kind} have no metric {metric!r}; {hint}")
