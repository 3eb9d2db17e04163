"""The bookkeeping of a run, so that the loop need not speak of it: record, checkpoints, loggers, progress, Ctrl-C."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handaxe.errors import CheckpointError, HandaxeError, InputError, TrainingError
from handaxe.models.saved_format import keep_format
from handaxe.slots import ChatFormat, Engine
from handaxe.training.checkpoint import Checkpoints
from handaxe.training.interrupt import Interrupt
from handaxe.training.pace import Keep
from handaxe.training.progress import Bar
from handaxe.training.record.groups import GroupRecord
from handaxe.training.record.run_record import RunRecord

__all__ = ["Evaluate", "Run", "TrainResult"]

SHOWN = ("reward", "calls", "tokens", "loss", "nothing_to_train")
Evaluate = Callable[[Engine, int], dict[str, Any]]


@dataclass(frozen=True)
class TrainResult:
    """What a run came to.

    metrics   one dict a step, with the key "step"; steps before a resume included
    path      the run's folder, None when nothing was kept
    stopped   "" when every step was done, "interrupted" after Ctrl-C
    """

    metrics: list[dict[str, float]]
    path: Path | None
    stopped: str = ""


class Run:
    """One run between its first and its last step; a context manager.

    On resume, steps recorded after the last checkpoint are forgotten and done again.

    Args:
        engine, parts: what checkpoints hold.
        steps: how many in all.
        about: written to recipe.json.
        keep: what is kept, and where.
        evaluate, eval_every: called with the engine and the number of steps done, every so many steps; 0 is never.
        title: what the bar calls a step.
        format: chat format of the policy, kept in the folder for whoever uses it.

    Raises:
        InputError: a negative number of steps.
    """

    def __init__(
        self,
        engine: Engine,
        parts: Mapping[str, object],
        steps: int,
        about: Mapping[str, Any],
        keep: Keep,
        evaluate: Evaluate | None = None,
        eval_every: int = 0,
        title: str = "step",
        format: ChatFormat | None = None,
    ):
        if steps < 0 or eval_every < 0:
            raise InputError(f"steps is {steps} and eval_every {eval_every}; neither may be negative")
        self._engine = engine
        self._parts = parts
        self._steps = steps
        self._about = about
        self._keep = keep
        self._evaluator = evaluate
        self._eval_every = eval_every
        self._title = title
        self._format = format
        self._done = 0
        self._stopped = ""
        self._metrics: list[dict[str, float]] = []

    def __enter__(self) -> "Run":
        out = None if self._keep.out is None else Path(self._keep.out)
        self._checkpoints = None if out is None else Checkpoints(out / "checkpoints", keep=self._keep.checkpoints)
        with ExitStack() as stack:
            self._record = None
            if out is not None and self._checkpoints is not None:
                self._record = self._open(out, self._checkpoints, stack)
            for logger in self._keep.loggers:
                stack.callback(logger.close)
            self._bar = stack.enter_context(
                Bar(self._steps, done=self._done, enabled=self._keep.progress, title=self._title)
            )
            self._interrupt = stack.enter_context(Interrupt())
            self._stack = stack.pop_all()
        return self

    def _open(self, out: Path, checkpoints: Checkpoints, stack: ExitStack) -> RunRecord:
        if not self._keep.resume and (RunRecord.begun(out) or checkpoints.found()):
            raise InputError(f"there is a run in {out} already: pass resume=True to go on with it, or another folder")
        record = stack.enter_context(RunRecord(out, about=self._about))
        if self._format is not None:
            keep_format(out, self._format)
        recorded = record.steps()
        self._done = checkpoints.load(self._engine, self._parts)
        if recorded[: self._done] != list(range(self._done)):
            raise CheckpointError(
                f"the last checkpoint in {out} was written after {self._done} steps, but the record holds "
                f"{len(recorded)}: they are not of the same run. Start anew in another folder"
            )
        forgotten = record.roll_back(self._done)
        kind = "resumed" if recorded else "started"
        record.write_about(self._about)
        record.write_event(self._done, kind, f"{forgotten} recorded steps are done again" if forgotten else "")
        self._metrics = record.metrics()
        return record

    def todo(self) -> Iterator[int]:
        """The steps left, until Ctrl-C. Evaluates before the first step of all."""
        if self._done == 0 and self._steps and (result := self._evaluate(0)) is not None and self._record:
            self._record.write_evaluation(0, result)
        while self._done < self._steps and not self._interrupt.asked:
            yield self._done
        if self._checkpoints and self._done:
            self._checkpoints.save(self._done, self._engine, self._parts)
        if self._done < self._steps:
            self._stopped = "interrupted"

    def playing(self, done: int, total: int) -> None:
        """Show how far the attempts of the present step are."""
        self._bar.inside("sampling", done, total)

    def finish(self, groups: list[GroupRecord], metrics: dict[str, float]) -> None:
        """Evaluate where it is due, keep the step, and write a checkpoint where that is due."""
        step, done = self._done, self._done + 1
        result = self._evaluate(done)
        metrics |= {f"eval/{name}": float(v) for name, v in (result or {}).items() if isinstance(v, (int, float))}
        if self._record:
            self._record.write_step(step, groups, metrics, result)
        self._done = done
        if self._checkpoints and done % self._keep.checkpoint_every == 0:
            self._checkpoints.save(done, self._engine, self._parts)
        self._metrics.append({"step": float(step), **metrics})
        for logger in self._keep.loggers:
            logger(step, metrics)
        self._bar.step(metrics, SHOWN)

    def result(self) -> TrainResult:
        """What the run came to so far."""
        return TrainResult(self._metrics, self._keep.out, self._stopped)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        with self._stack:
            if error is None:
                self._event(self._stopped or "finished", "")
            else:
                self._event("interrupted" if isinstance(error, KeyboardInterrupt) else "failed", repr(error))
        if self._stopped or isinstance(error, KeyboardInterrupt):
            how = self._how_to_resume("")
            print(f"stopped with {self._done} of {self._steps} steps done. {how}", file=sys.stderr)
        if isinstance(error, TrainingError):
            how = self._how_to_resume(" and a lower learning rate")
            raise TrainingError(f"step {self._done}: {error}. {how}") from error

    def _evaluate(self, done: int) -> dict[str, Any] | None:
        call, every = self._evaluator, self._eval_every
        if call is None or not every or (done % every and done != self._steps):
            return None
        return call(self._engine, done)

    def _event(self, kind: str, text: str) -> None:
        if self._record:
            with suppress(HandaxeError):  # a full disk must not hide the error that is on its way
                self._record.write_event(self._done, kind, text)

    def _how_to_resume(self, change: str) -> str:
        if self._checkpoints is None:
            return "Nothing was kept: pass keep=Keep(out=FOLDER) to be able to resume"
        found = self._checkpoints.found()
        start = f"after step {found[-1].steps}" if found else "from the first step, there being no checkpoint yet"
        where = str(self._keep.out)
        return f"Resume with the same arguments and keep=Keep(out={where!r}, resume=True){change}: it goes on {start}"
