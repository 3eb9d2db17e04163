"""Divergence of the distributions of solver and verifier over the tokens of a step."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.requests import Measure
from handaxe.rollouts.play import Play, Request

__all__ = ["measure_divergence", "role_divergence"]


def role_divergence(solver_logp: Sequence[float], verifier_logp: Sequence[float]) -> float:
    """Estimate the divergence of two roles from log-probs of the solver's tokens in both contexts.

        D = 1/J sum_j (log pi_S(a_j | solver's context, a_<j) - log pi_V(a_j | verifier's context, a_<j))

    This is the mean of `ops.kl_estimators.k1` over tokens drawn by the solver: an unbiased estimate of the mean over
    tokens of KL(pi_S || pi_V). A single value may be negative.

    Args:
        solver_logp: log-probs of the step's tokens when the solver drew them.
        verifier_logp: log-probs of the same tokens after the verifier's context.

    Returns:
        D in nats a token.

    Raises:
        InputError: no tokens, or lists of different lengths.

    Example:
        solver (-0.1, -0.2, -0.3), verifier (-2.1, -0.7, -0.2): (2.0 + 0.5 - 0.1) / 3 = 0.8

    Paper: arXiv:2511.19900 (Agent0-VL), equation 2, divergence in the process reward.
    Differs: the paper has KL(pi_V || pi_S); the tokens of a step are the solver's, and estimate KL(pi_S || pi_V).
    Importance weights would give the paper's direction in expectation, with a large variance: the solver rarely draws
    tokens that are likely to the verifier alone.
    Unconfirmed: the paper writes KL(pi_V || pi_E) without a definition of pi_E, read here as the solver; that the
    tokens of the step are compared, and not those of the verdict; the mean over tokens. The released code has 0.
    """
    if not solver_logp or len(solver_logp) != len(verifier_logp):
        raise InputError(
            f"the step has {len(solver_logp)} log-probs of the solver and {len(verifier_logp)} of the verifier; "
            "give one of each a token"
        )
    ratios = [solver - verifier for solver, verifier in zip(solver_logp, verifier_logp, strict=True)]
    return sum(ratios) / len(ratios)


def measure_divergence(play: Play, step: int) -> Generator[Request, Any, float]:
    """Measure the divergence of a step whose verdict is the last turn.

        solver     recorded log-probs of the step's tokens, as sampled
        verifier   log-probs of the same tokens in place of the verdict: opening + "check STEP" + own calls + step

    The play samples nothing for it. Tokens that exceed the context after the verifier's are left out.

    Args:
        play: a play of `two_roles` after a verdict.
        step: number of the solver's turn.

    Returns:
        `role_divergence` of the step.

    Raises:
        InputError: an engine without `measure`, or another engine than the policy.

    Example:
        step "90", verdict "90 .9" after a zoom: the policy scores "90" after "check 90", the zoom and its reply

    Paper: arXiv:2511.19900 (Agent0-VL), equations 1 and 2, distributions of both roles over a step.
    Differs: the verifier's context has the replies to its own calls, and not the reply to the step (`two_roles`). In an
    asynchronous run, the weights may change between sampling and measure.
    Unconfirmed: the context of the verifier is the context of its verdict.
    """
    said, verdict = play.turns[step], play.turns[-1]
    before = play.sequences[verdict.sequence].ids[: verdict.start]
    drawn = play.sequences[said.sequence].span(said.start, said.stop)
    ids = [*before, *drawn.ids][: play.attempt.context]
    found = yield from play.measure(Measure(ids, verdict.start, temperature=said.sampling.temperature or 1.0))
    return role_divergence(drawn.logp[: len(found["logp"])], found["logp"])
