"""Bookkeeping of a run: record, checkpoints, loggers, progress, Ctrl-C."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from handaxe.core.errors import CheckpointError, HandaxeError, InputError, NonFiniteError, TrainingError, UnscoredError
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.models.chat_formats.saved_format import save_format
from handaxe.training.loop.config import Evaluate, RunConfig
from handaxe.training.loop.interrupt import Interrupt
from handaxe.training.loop.progress import Bar
from handaxe.training.loop.result_views import Curves, metric_curves, metric_table
from handaxe.training.loop.watch import Watch, failed_share
from handaxe.training.record.checkpoint import Checkpoints
from handaxe.training.record.groups import RecordedGroup
from handaxe.training.record.run_progress import has_progress
from handaxe.training.record.run_record import RunRecord

__all__ = ["Run", "TrainResult", "Watched"]

SHOWN = ("reward", "reward/all", "eval/pass@1", "calls", "tokens")


@runtime_checkable
class Watched(Protocol):
    """`Evaluate` with a progress callback."""

    def watched(self, progress: Callable[[int, int], None]) -> Evaluate:
        """Return the evaluation with progress reports (rollouts done, total)."""
        ...


@dataclass(frozen=True)
class TrainResult:
    """Result of a run.

    metrics   one dict per step, with the key "step"; steps before a resume included
    path      the run's folder, None without a folder
    stopped   "" after all steps, "interrupted" after Ctrl-C
    reason    of `RunConfig.stop` for the end before the last step, "" without
    """

    metrics: list[dict[str, float]]
    path: Path | None
    stopped: str = ""
    reason: str = ""

    def plot(self, *names: str) -> Curves:
        """Draw metrics by step, in a notebook or with `plot().save("curves.svg")`.

        Args:
            names: of metrics, such as "reward" and "eval/pass@1"; without names, the main ones.

        Raises:
            InputError: a name that no step has, a run without steps, or matplotlib is not installed (extra [plots]).
        """
        return metric_curves(self.metrics, names)

    def _repr_html_(self) -> str:
        words = (f"{len(self.metrics)} steps", self.stopped, self.reason, str(self.path or ""))
        return metric_table(self.metrics, caption=", ".join(word for word in words if word))


class Run:
    """Run between first and last step; a context manager.

    On resume, recorded steps after the last checkpoint are deleted and repeated.

    Args:
        engine, parts: contents of checkpoints.
        steps: total number of steps.
        about: contents of recipe.json.
        config: settings of record, checkpoints and progress.
        title: the bar's name of a step.
        format: chat format of the policy, saved in the folder for later use.

    Raises:
        InputError: a negative number of steps.
    """

    def __init__(
        self,
        engine: Engine,
        parts: Mapping[str, object],
        steps: int,
        about: Mapping[str, Any],
        config: RunConfig,
        title: str = "step",
        format: ChatFormat | None = None,
    ):
        if steps < 0:
            raise InputError(f"steps is {steps}; give 0 or more")
        self._engine = engine
        self._parts = parts
        self._steps = steps
        self._about = about
        self._config = config
        self._title = title
        self._format = format
        self._done = 0
        self._shown = dict[str, float]()
        self._stopped = ""
        self._reason = ""
        self._evaluations: dict[int, Mapping[str, Any]] = {}
        self._metrics: list[dict[str, float]] = []

    def __enter__(self) -> "Run":
        out = None if self._config.out is None else Path(self._config.out)
        self._checkpoints = None if out is None else Checkpoints(out / "checkpoints", keep=self._config.checkpoints)
        with ExitStack() as stack:
            self._record = None
            if out is not None and self._checkpoints is not None:
                self._record = self._open(out, self._checkpoints, stack)
            for logger in self._config.loggers:
                stack.callback(logger.close)
            self._bar = stack.enter_context(
                Bar(self._steps, done=self._done, enabled=self._config.progress, title=self._title)
            )
            self._interrupt = stack.enter_context(Interrupt())
            self._watch = Watch(self._warn)
            self._stack = stack.pop_all()
        return self

    def _open(self, out: Path, checkpoints: Checkpoints, stack: ExitStack) -> RunRecord:
        if not self._config.resume and has_progress(out):
            raise InputError(f"there is a run in {out} already: pass resume=True to go on with it, or another folder")
        record = stack.enter_context(RunRecord(out, about=self._about))
        if self._format is not None:
            save_format(out, self._format)
        recorded = record.steps()
        self._done = checkpoints.load(self._engine, self._parts)
        if recorded[: self._done] != list(range(self._done)):
            raise CheckpointError(
                f"the last checkpoint in {out} was written after {self._done} steps, but the record holds "
                f"{len(recorded)}: they belong to different runs. Start again in another folder"
            )
        forgotten = record.roll_back(self._done)
        kind = "resumed" if recorded else "started"
        record.write_about(self._about)
        record.write_event(self._done, kind, f"{forgotten} recorded steps are done again" if forgotten else "")
        self._metrics, self._evaluations = record.metrics(), dict(record.evaluations())
        if self._metrics:
            self._reason = self._stop_reason(self._metrics[-1])
        return record

    def todo(self) -> Iterator[int]:
        """Iterate over the remaining steps until Ctrl-C or `RunConfig.stop`. Evaluates before the very first step."""
        if self._done == 0 and self._steps and (result := self._evaluate(0)) is not None and self._record:
            self._record.write_evaluation(0, result)
        self._bar.begin()
        while self._done < self._steps and not self._interrupt.requested and not self._reason:
            yield self._done
        if self._checkpoints and self._done:
            self._save(self._checkpoints)
        if self._done < self._steps and not self._reason:
            self._stopped = "interrupted"

    def playing(self, done: int, total: int) -> None:
        """Show the progress of rollouts in the current step."""
        self._bar.inside("sampling", done, total)

    def finish(self, groups: Sequence[RecordedGroup], metrics: dict[str, float]) -> None:
        """Record the step, with an evaluation and a checkpoint when due."""
        step, done = self._done, self._done + 1
        result = self._evaluate(done)
        metrics |= _numbers(result)
        self._reason = self._stop_reason(metrics)
        if self._reason and result is None:
            result = self._evaluate(done, last=True)
            metrics |= _numbers(result)
        if self._record:
            self._record.write_step(step, groups, metrics, result)
        self._done = done
        if self._checkpoints and (done % self._config.checkpoint_every == 0 or self._best() == done):
            self._save(self._checkpoints)
        self._metrics.append({"step": float(step), **metrics})
        for logger in self._config.loggers:
            logger(step, metrics)
        self._bar.step(self._notes(groups, metrics))
        self._watch(step, groups, trains=bool(metrics.get("optimiser_steps") or metrics.get("nothing_to_train")))

    def result(self) -> TrainResult:
        """Return the result so far."""
        return TrainResult(self._metrics, self._config.out, self._stopped, self._reason)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        with self._stack:
            if error is None:
                self._event(self._stopped or "finished", self._reason)
            else:
                self._event("interrupted" if isinstance(error, KeyboardInterrupt) else "failed", repr(error))
        if self._stopped or isinstance(error, KeyboardInterrupt):
            print(f"stopped with {self._done} of {self._steps} steps done. {self._how_to_resume()}", file=sys.stderr)
        if isinstance(error, UnscoredError):
            raise UnscoredError(f"step {self._done}: {error}. {self._how_to_resume(mended=True)}") from error
        if isinstance(error, NonFiniteError):
            raise NonFiniteError(f"step {self._done}: {error}. {self._how_to_resume(lower=True)}") from error
        if isinstance(error, TrainingError):
            raise TrainingError(f"step {self._done}: {error}. {self._how_to_resume(mended=True)}") from error

    def _save(self, checkpoints: Checkpoints) -> None:
        """Write a checkpoint of the steps done; with patience, the checkpoint of the best evaluation stays."""
        best = self._best()
        checkpoints.save(self._done, self._engine, self._parts, protected=() if best is None else (best,))

    def _best(self) -> int | None:
        """Steps done at the best evaluation; None without patience or evaluations."""
        stop = self._config.stop
        return stop.best(self._evaluations) if stop is not None and stop.patience else None

    def _stop_reason(self, metrics: Mapping[str, float]) -> str:
        stop = self._config.stop
        return "" if stop is None else stop.reason(metrics, self._evaluations)

    def _evaluate(self, done: int, *, last: bool = False) -> dict[str, Any] | None:
        evaluation, last = self._config.evaluation, last or done == self._steps
        if evaluation is None or not evaluation.every or (done % evaluation.every and not last):
            return None
        call = evaluation.evaluate
        if isinstance(call, Watched):
            call = call.watched(lambda over, total: self._bar.inside("evaluating", over, total))
        result = call(self._engine, done)
        self._evaluations[done] = result
        return result

    def _notes(self, groups: Sequence[RecordedGroup], metrics: Mapping[str, float]) -> list[str]:
        """Notes on a step for the progress display, the most important first. The loss is included only without a
        reward: the loss of reinforcement learning is 0 up to rounding.
        """
        failed = [f"{kind} {share:.0%}" for kind, share in failed_share(groups).items()]
        nothing = ["nothing to train"] if metrics.get("nothing_to_train") else []
        self._shown |= {name: metrics[name] for name in SHOWN if name in metrics}
        shown = self._shown if "reward" in metrics else {"loss": metrics["loss"]} if "loss" in metrics else {}
        figures = [f"{name.removeprefix('eval/')} {shown[name]:.3g}" for name in (*SHOWN, "loss") if name in shown]
        return [*failed, *nothing, *figures]

    def _warn(self, text: str) -> None:
        """Print a warning, and record it."""
        self._bar.say(f"warning: {text}")
        self._event("warning", text)

    def _event(self, kind: str, text: str) -> None:
        if self._record:
            with suppress(HandaxeError):  # a full disk must not hide the pending error
                self._record.write_event(self._done, kind, text)

    def _how_to_resume(self, *, mended: bool = False, lower: bool = False) -> str:
        """Explain how to resume, as a command line or as a script, like the run's start.

        Args:
            mended: the cause must be fixed first.
            lower: a lower learning rate is needed.
        """
        if self._checkpoints is None:
            return "Nothing was kept: pass run=RunConfig(out=FOLDER) to be able to resume"
        found = self._checkpoints.found()
        start = f"after step {found[-1].steps}" if found else "from the first step, there being no checkpoint yet"
        out, first = str(self._config.out), "once that is mended, " if mended else ""
        if self._config.recipe is None:
            rate = " and a lower learning rate" if lower else ""
            how = f"{first}resume with the same arguments and run=RunConfig(out={out!r}, resume=True){rate}"
        else:
            rate = "try a lower --learning-rate in a new run, or " if lower else ""
            how = f"{first}{rate}`{shlex.join(['handaxe', 'resume', out])}`"
        return f"{how[0].upper()}{how[1:]}: it goes on {start}"


def _numbers(result: Mapping[str, Any] | None) -> dict[str, float]:
    """Numbers of an evaluation as metrics of a step."""
    return {f"eval/{name}": float(value) for name, value in (result or {}).items() if isinstance(value, (int, float))}
