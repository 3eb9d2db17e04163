"""Pipelines: steps in order, in rounds, until enough drafts are kept; every outcome is in a ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.synthesis.draft import SynthesisDraft, digest_of, make_draft
from handaxe.synthesis.files import write_files
from handaxe.synthesis.ledger import Ledger
from handaxe.synthesis.step import DraftOutcome, StepRound, SynthesisContext, SynthesisStep

__all__ = ["Pipeline", "SynthesisReport", "SynthesisState"]

LEDGER = "ledger.sqlite"
IDLE = 4
"""Rounds without a kept draft after which a run ends."""


class SynthesisState(NamedTuple):
    """Progress of a run: round and step with the numbers of drafts, and kept drafts of all rounds."""

    round: int
    step: str
    drafts: int
    kept: int


class SynthesisReport(NamedTuple):
    """Result of a run: kept drafts, outcomes taken from the ledger, computed outcomes, and the card."""

    drafts: tuple[SynthesisDraft, ...]
    known: int
    computed: int
    card: Mapping[str, Any]


@dataclass(frozen=True)
class Pipeline:
    """Steps of a synthesis.

        seed drafts  --step 1-->  drafts  --step 2-->  ...  -->  drafts of kind "task", written to files

    Runs in rounds of `batch` seeds until `count` drafts are kept. An outcome is stored under a digest of the draft, the
    seed, and name, version and settings of its step and of all earlier ones: a second run computes nothing, a killed
    run continues, and a changed step runs again with everything after it. A step that decontaminates is required; no
    draft may change after it.

    Args:
        name: in the card.
        steps: with different names.
        batch: seeds of a round, 1 or more.
        chunk: drafts of a commit, 1 or more; outcomes do not depend on it.
        about: JSON for the card, such as the options of the pipeline.

    Raises:
        InputError: two steps share a name, or no step decontaminates.

    Example:
        Pipeline("mine", (propose, decontaminate(tests))).run(out=folder, count=100)

    Idea: answers and outcomes are data; a run is a function of seeds, steps and answers.
    """

    name: str
    steps: tuple[SynthesisStep, ...]
    batch: int = 256
    chunk: int = 64
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [one.name for one in self.steps]
        if len(set(names)) < len(names):
            raise InputError(f"two steps of pipeline {self.name} share a name: {', '.join(names)}")
        if not any(one.decontaminates for one in self.steps):
            raise InputError(
                f"pipeline {self.name} has no step that decontaminates: tasks are written only after a comparison with "
                "the test tasks; add handaxe.synthesis.steps.decontaminate"
            )
        if self.batch < 1 or self.chunk < 1:
            raise InputError(f"batch is {self.batch} and chunk {self.chunk}; give 1 or more")

    def run(
        self,
        *,
        out: Path,
        count: int,
        seed: int = 0,
        workers: int = 4,
        most_rounds: int = 1000,
        progress: Callable[[SynthesisState], None] | None = None,
    ) -> SynthesisReport:
        """Make drafts and write the files of `synthesis.files`.

        Args:
            out: folder, also of the ledger.
            count: kept drafts, 1 or more; fewer if the proposals are exhausted.
            seed: of the run.
            workers: threads of executions.
            most_rounds: limit.
            progress: called after each commit.

        Raises:
            InputError: count or workers below 1; a step returned another number of outcomes, or changed a draft after
                decontamination.
        """
        if count < 1 or workers < 1:
            raise InputError(f"count is {count} and workers {workers}; give 1 or more")
        out.mkdir(parents=True, exist_ok=True)
        ledger = Ledger(out / LEDGER)
        try:
            units, counts = self._rounds(_Run(ledger, seed, workers, progress), count, most_rounds)
        finally:
            ledger.close()
        last = [unit.kept for unit in units if unit.step is self.steps[-1]]
        made = tuple({one.id: one for own in last for one in own}.values())
        about = {"pipeline": self.name, "seed": seed, "count": count, "options": dict(self.about)}
        card = write_files(out, made[:count], units, about=about)
        return SynthesisReport(made[:count], counts[0], counts[1], card)

    def _rounds(self, run: _Run, count: int, most_rounds: int) -> tuple[list[StepRound], tuple[int, int]]:
        units = list[StepRound]()
        before = {step.name: tuple[SynthesisDraft, ...]() for step in self.steps}
        idle = known = computed = 0
        for number in range(most_rounds):
            seeds = [make_draft("seed", {"number": number * self.batch + k}) for k in range(self.batch)]
            drafts, chain = tuple(seeds), digest_of("seed", run.seed)
            clean = False
            for step in self.steps:
                chain = digest_of(chain, step.name, step.version, dict(step.settings))
                state = SynthesisState(number, step.name, len(drafts), len(before[self.steps[-1].name]))
                outcomes, new = run.outcomes(step, drafts, before[step.name], chain, self.chunk, state)
                if clean:
                    _check_unchanged(step, drafts, outcomes)
                clean = clean or step.decontaminates
                units.append(StepRound(number, step, drafts, outcomes))
                computed, known = computed + new, known + len(drafts) - new
                drafts = units[-1].kept
                before[step.name] += drafts
            idle = 0 if drafts else idle + 1
            if len(before[self.steps[-1].name]) >= count or idle >= IDLE:
                break
        return units, (known, computed)


class _Run(NamedTuple):
    """Values shared by all steps of a run."""

    ledger: Ledger
    seed: int
    workers: int
    progress: Callable[[SynthesisState], None] | None

    def outcomes(
        self,
        step: SynthesisStep,
        drafts: tuple[SynthesisDraft, ...],
        earlier: tuple[SynthesisDraft, ...],
        chain: str,
        chunk: int,
        state: SynthesisState,
    ) -> tuple[tuple[DraftOutcome, ...], int]:
        """Outcomes of a step in a round, and the number computed now."""
        at = SynthesisContext(self.seed, earlier if step.whole else (), self.workers)
        around = [[one.as_json() for one in group] for group in (drafts, at.earlier)] if step.whole else []
        chain = digest_of(chain, around)
        keys = [digest_of(chain, one.as_json()) for one in drafts]
        found = self.ledger.get(keys)
        open_ = [k for k, key in enumerate(keys) if key not in found]
        if step.whole and open_:
            open_ = list(range(len(keys)))
        size = max(1, len(open_)) if step.whole else chunk
        for start in range(0, len(open_), size):
            chosen = open_[start : start + size]
            made = step.run([drafts[k] for k in chosen], at)
            if len(made) != len(chosen):
                raise InputError(f"step {step.name} made {len(made)} outcomes of {len(chosen)} drafts; make one each")
            found |= {keys[k]: one for k, one in zip(chosen, made, strict=True)}
            rows = [(keys[k], step.name, step.version, drafts[k].id, found[keys[k]]) for k in chosen]
            self.ledger.put(rows)
            if self.progress is not None:
                self.progress(state)
        return tuple(found[key] for key in keys), len(open_)


def _check_unchanged(step: SynthesisStep, drafts: Sequence[SynthesisDraft], outcomes: Sequence[DraftOutcome]) -> None:
    known = {one.id for one in drafts}
    if any(one.id not in known for it in outcomes for one in it.kept):
        raise InputError(f"step {step.name} changes drafts after decontamination; put it before that step")
