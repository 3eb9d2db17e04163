"""Result of a replication as data: claims with verdicts, and curves of both sides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.evaluation.acts import Activation, SeenAct
from handaxe.evaluation.claim_figures import ClaimFigures, Control, PairedFigures
from handaxe.evaluation.claims import RELATIVE_MARGIN, Claim
from handaxe.evaluation.decide import Decision, decide
from handaxe.evaluation.figures import RunFigures
from handaxe.ops.stats import mean_interval

__all__ = ["Curve", "DecidedClaim", "Replication", "mean_curve"]

FORMAT = 3
RENAMED = {"statement": "text", "same": "keeps", "learned": "control"}
"""Fields of a claim in format 1 and their names now."""
OLD_NOT_TESTABLE = "not testable here"
UNREACHED = "never reach"
PERMUTED = "with permuted rewards"
"""Parts of decisions in formats 1 and 2."""


class Curve(NamedTuple):
    """A figure over the steps of several runs: the mean [P] with a 95 % interval over the runs."""

    steps: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class DecidedClaim(NamedTuple):
    """A claim with figures and decision.

    baseline   name of the baseline for readers
    """

    claim: Claim
    figures: ClaimFigures
    decision: Decision
    baseline: str

    @classmethod
    def of(cls, claim: Claim, figures: ClaimFigures, baseline: str) -> DecidedClaim:
        """Decide a claim.

        Raises:
            InputError: of `decide`.
        """
        return cls(claim, figures, decide(claim, figures), baseline)


@dataclass(frozen=True)
class Replication:
    """All claims of a method, decided.

    command   the command line;  seeds  one a pair;  arguments  of the method's runs
    baselines name of a baseline -> arguments of its runs
    curves    figure -> name of a side -> its curve;  seconds  name of a side -> total seconds of its runs
    silent    channels of the method's reward that are equal for all siblings in all runs
    fingerprints   name of a side -> its behaviour fingerprint (methods.fingerprint); {} for an older result
    acts      named figures of the mechanism at work (methods.activation.seen_acts); () for an older result
    activation     differences from the base's update (methods.activation.measure_activation); None if not measured
    """

    method: str
    command: str
    version: str
    seeds: tuple[int, ...]
    claims: tuple[DecidedClaim, ...]
    arguments: Mapping[str, Any]
    baselines: Mapping[str, Mapping[str, Any]]
    curves: Mapping[str, Mapping[str, Curve]]
    seconds: Mapping[str, float]
    silent: tuple[str, ...] = ()
    fingerprints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    acts: tuple[SeenAct, ...] = ()
    activation: Activation | None = None

    @property
    def setting(self) -> str:
        """Size of the evaluations in words, such as "400 held-out tasks, 1 sample"; "" if the result lacks it."""
        tasks, samples = self.arguments.get("held_out"), self.arguments.get("samples")
        if tasks is None or samples is None:
            return ""
        return f"{tasks} held-out tasks, {samples} sample{'' if samples == 1 else 's'}"

    def to_json(self) -> str:
        """Everything as JSON; infinite and undefined numbers are null."""
        claims = [
            {
                "claim": asdict(one.claim),
                "figures": _plain(one.figures),
                "decision": _plain(one.decision),
                "baseline": one.baseline,
            }
            for one in self.claims
        ]
        curves = {name: {side: one._asdict() for side, one in sides.items()} for name, sides in self.curves.items()}
        body = {**vars(self), "claims": claims, "curves": curves, "format": FORMAT}
        body["acts"] = [one._asdict() for one in self.acts]
        body["activation"] = None if self.activation is None else self.activation.to_json()
        return json.dumps(_finite(body), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Replication:
        """Parse the output of `to_json`.

        Raises:
            InputError: the text is no replication.
        """
        try:
            body = json.loads(text)
            made = body.pop("format")
            if made not in (1, 2, FORMAT):
                raise InputError(f"the result has format {made}, and this version reads {FORMAT}: replicate again")
            body = _renamed(body) if made == 1 else body
            body = _with_figures(body) if made < FORMAT else body
            body |= {"seeds": tuple(body["seeds"]), "silent": tuple(body.get("silent", ()))}
            body["claims"] = tuple(_decided(one) for one in body["claims"])
            body["curves"] = {
                name: {side: _curve(one) for side, one in sides.items()} for name, sides in body["curves"].items()
            }
            body["acts"] = tuple(_seen(one) for one in body.get("acts", ()))
            if body.get("activation") is not None:
                body["activation"] = Activation.from_json(body["activation"])
            return cls(**body)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"this is no result of `handaxe replicate`: {error!r}") from error


def mean_curve(runs: Sequence[RunFigures], metric: str) -> Curve:
    """The mean of a figure over runs, at the steps shared by all runs.

    Raises:
        InputError: no run, or no such figure.
    """
    if not runs:
        raise InputError("a curve needs a run")
    series = [run.series(metric) for run in runs]
    common = sorted(set.intersection(*[set(one.axis.tolist()) for one in series]))
    at = [dict(zip(one.axis.tolist(), one.values.tolist())) for one in series]
    columns = [[values[step] for values in at] for step in common]
    intervals = [mean_interval(column) for column in columns]
    mean = tuple(float(np.mean(column)) for column in columns)
    return Curve(tuple(common), mean, tuple(one.low for one in intervals), tuple(one.high for one in intervals))


def _plain(value: Any) -> Any:
    """Named tuples as mappings."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    return value


def _renamed(body: Mapping[str, Any]) -> dict[str, Any]:
    """A result of format 1 with the names of format 2."""
    claims = []
    for one in body["claims"]:
        claim = {RENAMED.get(key, key): value for key, value in one["claim"].items() if key != "vice"}
        down = claim["direction"] == "down"
        claim["baseline_must_exceed" if down else "baseline_must_not_exceed"] = one["claim"]["vice"]
        decision = {"kept" if key == "same" else key: value for key, value in one["decision"].items()}
        claims.append({**one, "claim": claim, "decision": decision})
    return {**{"method" if key == "recipe" else key: value for key, value in body.items()}, "claims": claims}


def _with_figures(body: Mapping[str, Any]) -> dict[str, Any]:
    """A result of format 2 with the figures of format 3, decided by today's rule. A figure without a default margin
    gets a relative one.
    """
    claims = []
    for one in body["claims"]:
        decision, control = one["decision"], one["control"]
        verdict, why = decision["verdict"], decision["why"]
        obstacle = why if verdict == OLD_NOT_TESTABLE and not why.startswith(PERMUTED) else ""
        moved = None
        if control is not None:
            moved = {"moved": [control["moved"]], "kept": [] if control["kept"] is None else [control["kept"]]}
        figures = {"paired": decision["paired"], "kept": decision["kept"], "control": moved, "obstacle": obstacle}
        figures["unreached"] = why if verdict == "undecided" and UNREACHED in why else ""
        claims.append({"claim": one["claim"], "baseline": one["baseline"], "figures": figures})
    return {**body, "claims": claims}


def _decided(one: Mapping[str, Any]) -> DecidedClaim:
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in one["claim"].items()
    }
    claim, figures = Claim(**fields), _claim_figures(one["figures"])
    if "decision" in one:
        decision = dict(one["decision"])
        for name in ("paired", "kept"):
            decision[name] = None if decision[name] is None else _paired(decision[name])
        return DecidedClaim(claim, figures, Decision(**decision), one["baseline"])
    try:
        claim.margin_for(figures.paired.theirs)
    except InputError:
        claim = replace(claim, relative_margin=RELATIVE_MARGIN)
    return DecidedClaim.of(claim, figures, one["baseline"])


def _claim_figures(one: Mapping[str, Any]) -> ClaimFigures:
    control = one["control"]
    return ClaimFigures(
        _paired(one["paired"]),
        None if one["kept"] is None else _paired(one["kept"]),
        None if control is None else Control(_numbers(control["moved"]), _numbers(control["kept"])),
        one["obstacle"],
        one["unreached"],
        one.get("unread", ""),
    )


def _paired(one: Mapping[str, Any]) -> PairedFigures:
    return PairedFigures(
        _numbers(one["ours"]), _numbers(one["theirs"]), *_numbers([one[name] for name in ("difference", "low", "high")])
    )


def _seen(one: Mapping[str, Any]) -> SeenAct:
    return SeenAct(one["figure"], one["at_least"], *_numbers([one["seen"]]))


def _curve(one: Mapping[str, Any]) -> Curve:
    return Curve(*(_numbers(one[name]) for name in Curve._fields))


def _numbers(values: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(float("nan") if value is None else value for value in values)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
