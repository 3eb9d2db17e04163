"""Judge of a method: the rule of the world, or the language model of `--judge`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.asking.ask import Answerer, Ask, AskAnswer
from handaxe.asking.desk import AskDesk, metrics_of
from handaxe.asking.recorded_answerer import RecordedAnswerer
from handaxe.asking.store import AnswerStore, read_calls
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Check, Engine, Learner, Reward, Stage, StepJudge
from handaxe.core.records import Criterion, Group, RatedGroup, Task, Trajectory
from handaxe.judges.asked_check import asked_check, check_question
from handaxe.judges.asked_grades import asked_grades
from handaxe.judges.asked_steps import AskedSteps, asked_steps
from handaxe.judges.noisy import noisy, noisy_check
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.judge_source import RULE, check_judge_source, make_answerer
from handaxe.methods.teach_judge import NO, YES, Labelled, teach_judge
from handaxe.rewards.judged import judged
from handaxe.training.stages.sources import played

if TYPE_CHECKING:
    from handaxe.methods.method import RunSettings

__all__ = ["AskedJudge", "JudgeRole", "compare_verdicts"]

STORE = "judge.sqlite"
"""File of a judge's questions and answers in the folder of a run."""


class JudgeRole:
    """The judge of a method, by the settings of the run.

    Methods pass a rule and get a check, a step judge or a reward: by default the rule, else a language model. The rule
    never replaces a failed answer.

    Args:
        source: see `methods.judge_source`.
        flip: probability of a flipped verdict of the source.
        labels: maximum of labelled questions for a head or a trained judge.
        groups, group_size: rollouts of the first policy, labelled by the rule.
        outcome: reward of these rollouts.
        budget: most tokens that the judge may read and write in a run; 0 for no limit.
        min_coverage: see `asking.desk.AskDesk`.
        seed: of the choice of labels and of flips.

    Raises:
        InputError: an unknown source, or a number out of range.

    Example:
        JudgeRole("smollm2").check(rule=world.check, criteria=world.criteria) asks SmolLM2
    """

    def __init__(
        self,
        source: str = RULE,
        *,
        flip: float = 0.0,
        labels: int = 512,
        groups: int = 24,
        group_size: int = 8,
        outcome: Reward | None = None,
        budget: int = 0,
        min_coverage: float = 0.2,
        seed: int = 0,
    ):
        if not 0 <= flip <= 1 or labels < 2 or budget < 0 or not 0 <= min_coverage < 1:
            raise InputError(
                f"give --judge-flip from 0 to 1, --judge-labels from 2, --judge-budget from 0 and --judge-min-coverage "
                f"from 0 to below 1, not {flip}, {labels}, {budget} and {min_coverage}"
            )
        check_judge_source(source)
        self.source = source
        self.asked = False
        self._flip = flip
        self._labels = labels
        self._seed = seed
        self._groups = groups
        self._group_size = group_size
        self._outcome = outcome
        self._answerer = _Late(source)
        self.desk = AskDesk(self._answerer, budget=budget, min_coverage=min_coverage)
        self._rules: list[Callable[[Trajectory], list[Labelled]]] = []

    @classmethod
    def of(cls, settings: RunSettings, *, outcome: Reward) -> JudgeRole:
        """The judge by the settings of a run."""
        return cls(
            settings.judge,
            flip=settings.judge_flip,
            labels=settings.judge_labels,
            group_size=settings.group_size,
            outcome=outcome,
            budget=settings.judge_budget,
            min_coverage=settings.judge_min_coverage,
        )

    # --- what methods ask for -----------------------------------------------------------------------------------------

    def check(
        self,
        *,
        rule: Check | None,
        criteria: Callable[[Task], Sequence[Criterion]] | None = None,
        items: Callable[[Trajectory], Sequence[Criterion]] | None = None,
        prompt: str = "check",
    ) -> Check:
        """The check of a method.

        Args:
            rule: of the world, if any.
            criteria: of a task; or `items`, of a rollout.
            prompt: of a model.

        Raises:
            InputError: the source is the rule, and rule is None.
        """
        self.asked = True
        if self.source == RULE:
            return self._with_flips(self._needed(rule))

        def labels(trajectory: Trajectory) -> list[Labelled]:
            assert rule is not None
            listed = list(items(trajectory) if items is not None else (criteria or _none)(trajectory.task))
            met_CN = np.logical_or.accumulate(np.asarray(rule(trajectory, listed), bool), axis=1)
            return [
                (check_question(self.desk, prompt, trajectory, n, one), YES if met_CN[c, n] else NO)
                for c, one in enumerate(listed)
                for n in range(len(trajectory.turns))
                if not n or not met_CN[c, n - 1]
            ]

        self._rules += [labels] if rule is not None else []
        return self._with_flips(asked_check(desk=self.desk, prompt=prompt))

    def steps(self, *, rule: StepJudge | None, prompt: str = "step", low: float = -1.0, high: float = 1.0) -> StepJudge:
        """The step judge of a method; scores lie between `low` and `high`.

        Raises:
            InputError: the source is the rule, and there is none.
        """
        self.asked = True
        judge: StepJudge = self._needed(rule) if self.source == RULE else self._asked_steps(rule, prompt, low, high)
        middle = (low + high) / 2
        return noisy(judge=judge, spread=0.0, flip=self._flip, centre=middle, seed=self._seed) if self._flip else judge

    def _asked_steps(self, rule: StepJudge | None, prompt: str, low: float, high: float) -> AskedSteps:
        judge = asked_steps(desk=self.desk, prompt=prompt, low=low, high=high)

        def labels(trajectory: Trajectory) -> list[Labelled]:
            assert rule is not None
            score_N = rule.score_steps(Group(trajectory.task, (trajectory,)))[0]
            middle = (low + high) / 2
            kept = [(n, one > middle) for n, one in enumerate(score_N) if one != middle]
            return [(judge.question(trajectory, n), YES if right else NO) for n, right in kept]

        self._rules += [labels] if rule is not None else []
        return judge

    def grades(self, *, rule: Reward | None, prompt: str = "grade") -> Reward:
        """The grade of an answer, in [0, 1].

        Args:
            rule: the outcome is the grade; None for a world without a rule.
            prompt: of a model.

        Raises:
            InputError: the source is the rule, and there is none; verdicts are to be flipped.
        """
        self.asked = True
        if self._flip:
            raise InputError("this method asks for grades, and --judge-flip flips verdicts of yes and no: leave it out")
        if self.source == RULE:
            found: Reward = self._needed(rule)
            return found
        judge = asked_grades(desk=self.desk, prompt=prompt)

        def labels(trajectory: Trajectory) -> list[Labelled]:
            assert rule is not None
            (grade,) = rule(Group(trajectory.task, (trajectory,))).outcome
            question = judge.question(trajectory)
            nearest = min(question.prompt.weights, key=lambda label: abs(question.prompt.weights[label] - grade))
            return [(question, nearest)] if np.isfinite(grade) else []

        self._rules += [labels] if rule is not None else []
        return judged(judge=judge)

    def texts(self) -> AskDesk | None:
        """The desk of a method that asks for texts, such as a ranking; None if the source is the rule.

        Raises:
            InputError: the source is a taught model: no rule writes texts; or verdicts are to be flipped.
        """
        self.asked = True
        if self._flip or self._answerer.is_taught:
            raise InputError(
                f"this method asks for texts, which no rule labels: give --judge rule, self, self@start or a model, "
                f"not {self.source}, and no --judge-flip"
            )
        return None if self.source == RULE else self.desk

    def _needed(self, rule: Any) -> Any:
        if rule is None:
            raise InputError(
                "this world has no rule for the judge of the method: give --judge MODEL, see docs/judges.md"
            )
        return rule

    def _with_flips(self, check: Check) -> Check:
        return noisy_check(check=check, flip=self._flip, seed=self._seed) if self._flip else check

    # --- what a run needs ---------------------------------------------------------------------------------------------

    def bind(self, engine: Engine, format: ChatFormat) -> None:
        """Make the answerer; a copy of the policy has its present weights. Further calls do nothing."""
        if self.asked and self.source != RULE:
            self._answerer.bind(engine, format)

    def open(self, folder: Path) -> None:
        """Store questions and answers in FOLDER/judge.sqlite; a frozen model answers new questions alone."""
        if self.asked and self.source != RULE:
            folder.mkdir(parents=True, exist_ok=True)
            self.desk.store = AnswerStore(folder / STORE, reads=self._answerer.frozen)

    def recall(self, folder: Path) -> None:
        """Answer from the record of the run in a folder, for rewards that are computed again; no model is asked.

        Raises:
            InputError: the record is damaged.
        """
        if self.asked and self.source != RULE and (folder / STORE).is_file():
            self._answerer.recall(RecordedAnswerer(read_calls(folder / STORE)))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stage that teaches a head or a trained judge."""
        if not self.asked or not self._answerer.is_taught:
            return ()
        arguments = {} if self._outcome is None else {"reward": self._outcome}
        source = played(groups=self._groups, group_size=self._group_size, arguments=arguments)
        return (teach_judge(judge=self._answerer, source=source, labels=self.labelled, most=self._labels),)

    @property
    def learners(self) -> tuple[Learner, ...]:
        """Taught model, if any, and record."""
        if not self.asked or self.source == RULE:
            return ()
        record = AskedJudge(self.desk, self.labelled)
        return (self._answerer, record) if self._answerer.is_taught else (record,)

    def labelled(self, trajectory: Trajectory) -> list[Labelled]:
        """Questions about a rollout, with the answers of the rule; [] without a rule."""
        return [pair for labels in self._rules for pair in labels(trajectory)]


class AskedJudge:
    """Learner that learns nothing: counts of a step's questions, and agreement of the answers with the rule.

    Args:
        desk: whose records are read.
        labels: trajectory -> questions with the rule's answers.
    """

    def __init__(self, desk: AskDesk, labels: Callable[[Trajectory], list[Labelled]]):
        self._desk, self._labels = desk, labels

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Metrics of `asking.desk.metrics_of`, and of `compare_verdicts` for the questions that name a rollout."""
        calls = self._desk.take_calls()
        if self._desk.store is not None:
            self._desk.store.note(calls, step=step + 1)
        named = [one for one in calls if one.about[0]]
        verdicts = {one.about: one.value > 0.5 for one in named if isinstance(one.value, int | float)}
        rule = {
            ask.about: ask.prompt.weights[label] > 0.5
            for rated in groups
            for one in rated.group
            for ask, label in self._labels(one)
        }
        return {**metrics_of(calls), **compare_verdicts(verdicts, rule)}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state


class _Late:
    """Answerer that is made once the policy is there; also the learner that keeps its weights."""

    def __init__(self, source: str):
        self._source = source
        self._made: Any = None

    @property
    def made(self) -> Any:
        if self._made is None:
            raise InputError(f"--judge {self._source} has no model yet: it is asked before the run has a policy")
        return self._made

    @property
    def is_taught(self) -> bool:
        """The answerer learns from labels of the rule."""
        return self._source == "trained" or self._source.startswith("head:")

    @property
    def frozen(self) -> bool:
        """The answerer is the same in every run of this source."""
        return self._source not in (RULE, "self", "self@start", "trained")

    def recall(self, recorded: RecordedAnswerer) -> None:
        self._made = recorded

    def bind(self, engine: Engine, format: ChatFormat) -> None:
        if self._made is None:
            self._made = make_answerer(self._source, engine, format)
            if isinstance(self._made, TaughtAnswerer):
                self._made.begin(engine)

    @property
    def terse(self) -> bool:
        found: bool = self.made.terse
        return found

    def fingerprint(self) -> str:
        found: str = self.made.fingerprint()
        return found

    def answer(self, asks: Sequence[Ask]) -> list[AskAnswer]:
        made: Answerer = self.made
        return made.answer(asks)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        found: Mapping[str, float] = self.made.learn(groups, step=step)
        return found

    def state_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = self.made.state_dict()
        return found

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.made.load_state_dict(state)


def _none(task: Task) -> Sequence[Criterion]:
    del task
    return ()


def compare_verdicts(
    verdicts: Mapping[tuple[str, int, str], bool], rule: Mapping[tuple[str, int, str], bool]
) -> dict[str, float]:
    """Compare verdicts with verdicts of the rule, by (trajectory, turn, criterion).

    Returns:
        yes: share of positive verdicts. agreement, precision and recall: over verdicts with a verdict of the rule.
        Figures without data are left out.

    Example:
        verdicts yes, yes, no against yes, no, no  ->  agreement 0.6667, precision 0.5, recall 1
    """
    both = [(found, rule[about]) for about, found in verdicts.items() if about in rule]
    shares = {
        "yes": list(verdicts.values()),
        "agreement": [found == met for found, met in both],
        "precision": [met for found, met in both if found],
        "recall": [found for found, met in both if met],
    }
    return {name: float(np.mean(share)) for name, share in shares.items() if share}
