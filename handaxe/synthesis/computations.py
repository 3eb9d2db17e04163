"""Computations in the text of a worked solution, found by pattern."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

__all__ = ["Computation", "computations", "values_agree"]

NUMBER = r"[$\u20ac\u00a3]?\d[\d,]*(?:\.\d+)?"
SIGN = r"(?:\s*[-+*/\u00d7\u00f7]\s*|\s+x\s+)"
FOUND = re.compile(
    rf"(?<![\w.=*/+-])({NUMBER}(?:{SIGN}{NUMBER})+)\s*=\s*[$\u20ac\u00a3]?"
    rf"(-?\d(?:[\d,]*\d)?(?:\.\d+)?)(?![\d%]|[.,]\d)"
)
SIGNS = str.maketrans({"\u00d7": "*", "\u00f7": "/", "x": "*"} | dict.fromkeys("$\u20ac\u00a3, \t\n", ""))
"""Multiplication, division, euro and pound signs."""


class Computation(NamedTuple):
    """Computation in a text.

    before   text before it, from the value of the previous one on
    code     argument of the call that computes it
    value    result, as the text states it
    stop     index in the text at which the value begins
    """

    before: str
    code: str
    value: str
    stop: int


def computations(text: str, *, easy: int = 10, form: str = "{}") -> list[Computation]:
    """Return the computations of a text, in order.

    Args:
        text: has computations such as 12*3=36.
        easy: computations with all numbers below this are left out.
        form: code of an expression, such as "print({})".

    Example:
        computations("He has 3*4=12, so 12 x 30 = $360.")  ->  [("He has 3*4=12, so", "12*30", "360", 29)]

    Paper: arXiv:2512.20745 (AgentMath), heavy computations become calls; simple arithmetic stays text.
    Unconfirmed: the threshold below which computations stay text.
    Differs: found by pattern; a language model finds them in the paper; see `synthesis.call_writer`.
    """
    found, end = list[Computation](), 0
    for match in FOUND.finditer(text):
        expression = match[1].translate(SIGNS)
        if all(Decimal(number) < easy for number in re.findall(r"[\d.]+", expression)):
            continue
        before = text[end : match.start()].strip()
        found.append(Computation(before, form.format(expression), match[2], match.start(2)))
        end = match.start(2)
    return found


def values_agree(stated: str, reply: str) -> bool | None:
    """Compare a reply with a stated number, at the number of decimals of the latter.

    Returns:
        None where one of both is no number.

    Example:
        ("82.3", "82.26") -> True; ("83", "82") -> False; ("82", "many") -> None
    """
    try:
        number = stated.translate(SIGNS)
        apart = abs(Decimal(reply.strip()) - Decimal(number))
        decimals = len(number.partition(".")[2])
        return apart <= Decimal(5).scaleb(-decimals - 1)
    except InvalidOperation:
        return None
