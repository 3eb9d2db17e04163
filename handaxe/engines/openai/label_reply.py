"""Log-likelihoods of labels from the alternatives of a server's first token."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InfrastructureError, InputError

__all__ = ["LabelFailure", "LabelReply", "RefusedQuestion", "one_token_separates", "read_labels"]

MAX_UNSURE = 0.05
"""Largest share of the labels' mass that may be unknown."""
LEAST = 1e-9
"""Least mass of a label, so that its log-likelihood is finite."""
LabelFailure = Literal["", "unclear", "refused", "too_long"]


class RefusedQuestion(InputError):
    """A server refuses one request; other requests may be answered."""


class LabelReply(NamedTuple):
    """A server's reply to a question with labels.

    logp     label -> log-likelihood; {} if the server wrote a label as a text, or for a failure
    text     written label; for a failure the reason
    failure  "unclear": the first token does not separate the labels; "refused": by the server, or a reply without
             text; "too_long": the question is above the server's context length; "" for none
    read, written  tokens in the server's usage, of all requests for the question
    seconds  wall time
    cost     in the unit of the price
    """

    logp: Mapping[str, float] = {}
    text: str = ""
    failure: LabelFailure = ""
    read: int = 0
    written: int = 0
    seconds: float = 0.0
    cost: float = 0.0


def one_token_separates(labels: Mapping[str, tuple[str, ...]]) -> bool:
    """False if a form of one label begins, or equals, a form of another: the first token may be that of both.

    Example:
        {"1": ("1",), "10": ("10",)}  ->  False
    """
    return not any(
        other.startswith(form)
        for label, forms in labels.items()
        for form in forms
        for name, others in labels.items()
        if name != label
        for other in others
    )


def read_labels(answer: Mapping[str, Any], labels: Mapping[str, tuple[str, ...]]) -> LabelReply | None:
    """Log-likelihood of each label by the alternatives of the first token.

        token of a form = the longest alternative that the form starts with
        P(label) = sum of p over the tokens of its forms that begin forms of no other label
        shared   = sum of p over the tokens of forms that begin forms of several labels
        outside  = min(n * least p, 1 - sum of p)         most of a label's n forms without a token

    A label without a token gets log(outside), the most that it can have. There is no value, and the failure is
    "unclear", if no label has a token, or if shared and all of outside exceed 5 % of the labels' mass. The sampled
    token does not count for the least p, since a server may report it beside those of a higher p.

    Args:
        answer: of a server.
        labels: label -> forms, with the white space that a token would have.

    Returns:
        None for an answer without alternatives.

    Raises:
        InfrastructureError: the log-probs have another shape, or are no log-probs.

    Example:
        yes 0.7, Yes 0.1, y 0.1, no 0.05    ->  yes ln 0.8, no ln 0.05
        yes 0.97, Yes 0.02, maybe 0.001     ->  yes ln 0.99, no ln 0.001: one form, outside the alternatives
    """
    sampled, top = _alternatives(answer)
    if not top:
        return None
    p_of = dict[str, float]()
    for token, p in top:
        p_of[token] = p_of.get(token, 0.0) + p
    tokens = {label: [_first_token(form, p_of) for form in forms] for label, forms in labels.items()}
    mass, shared = dict.fromkeys(labels, 0.0), 0.0
    for token in sorted(set().union(*tokens.values()) - {""}):
        owners = [label for label, forms in labels.items() if any(form.startswith(token) for form in forms)]
        if len(owners) == 1:
            mass[owners[0]] += p_of[token]
        else:
            shared += p_of[token]
    least = min((p for token, p in top if token != sampled), default=1.0)
    rest = 1.0 - sum(p for _, p in top)
    outside = {label: min(found.count("") * least, max(rest, 0.0)) for label, found in tokens.items()}
    unsure, total = shared + sum(outside.values()), sum(mass.values())
    if total < LEAST or unsure > MAX_UNSURE * (total + unsure):
        names = ", ".join(labels)
        words = f"{len(top)} alternatives give the labels {names} a mass of {total:.2g}; {unsure:.2g} is unknown"
        return LabelReply(text=words, failure="unclear")
    return LabelReply({label: math.log(max(value or outside[label], LEAST)) for label, value in mass.items()})


def _first_token(form: str, tokens: Iterable[str]) -> str:
    """The longest token that a form starts with; "" for none."""
    return max((token for token in tokens if form.startswith(token)), key=len, default="")


def _alternatives(answer: Mapping[str, Any]) -> tuple[Any, list[tuple[str, float]]]:
    """The first token, and (token, probability) of its alternatives; [] if the answer has none."""
    try:
        field = answer["choices"][0].get("logprobs")
        entries = None if field is None else field.get("content")
        first = entries[0] if entries else {}
        found = [(one["token"], one["logprob"]) for one in first.get("top_logprobs") or ()]
    except (AttributeError, IndexError, KeyError, TypeError):
        raise InfrastructureError("the log-probs of the server's answer have another shape") from None
    for token, logp in found:
        if not isinstance(token, str) or type(logp) not in (int, float) or not logp <= 1e-6:
            raise InfrastructureError("the log-probs of the server's answer are no log-probs")
    out = [(token, math.exp(max(logp, -1e4))) for token, logp in found]
    if sum(p for _, p in out) > 1.001:
        raise InfrastructureError("the log-probs of the server's answer sum to more than 1")
    return first.get("token"), out
