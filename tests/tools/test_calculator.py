import math
import warnings
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handaxe.core.errors import Retry
from handaxe.core.records import ToolCall
from handaxe.tools.calculator import calculator


@pytest.mark.parametrize(
    "expression, result",
    [
        ("12*(3+4)", "84"), ("7/2", "3.5"), ("8/2", "4"), ("gcd(12,18)", "6"), ("7/1", "7"), ("-3--4", "1"),
        ("2**10", "1024"), ("2**-1", "0.5"), ("7//2", "3"), ("-7%3", "2"), ("0.1+0.2", "0.30000000000000004"),
        ("sqrt(16)", "4"), ("sqrt(2)", "1.4142135623730951"), ("abs(-3)", "3"), ("max(1,2.5)", "2.5"),
        ("min(3,1,2)", "1"), ("round(2.567,2)", "2.57"), ("lcm(4,6)", "12"), (" 1 + 1 ", "2"), ("1e3", "1000.0"),
        ("10**30/10**29", "10"), ("+5", "5"),
    ],
)  # fmt: skip
def test_calculator_gives_exact_values(expression, result):
    assert calculator(expression) == result


@pytest.mark.parametrize(
    "expression, message",
    [
        ("12*", "cannot read '12\\*'"), ("", "cannot read"), ("1 2", "cannot read"), ("007", "cannot read"),
        ("12*3=?", "cannot read"), ("\x00", "cannot read"), ("(" * 500, "cannot read"), ("1/0", "divides by zero"),
        ("5%0", "divides by zero"), ("0**-1", "divides by zero"), ("x+1", "'x' is not arithmetic"),
        ("2^3", r"a power is \*\*"), ("True", "not arithmetic"), ("'a'*3", "not arithmetic"),
        ("1,000", "not arithmetic"),
        ("9**9**9", "too large"), ("10**4000", "too large"), ("2.0**10000", "too large"), ("1e308*10", "too large"),
        ("(-8)**0.5", "not a real number"), ("sqrt(-1)", "cannot calculate"), ("gcd(1.5,2)", "cannot calculate"),
        ("abs()", "cannot calculate"), ("-" * 200 + "1", "nested deeper"), ("1+" * 1500 + "1", "limit is 2000"),
        ("__import__('os')", "not arithmetic"), ("(1).real", "not arithmetic"), ("[1]", "not arithmetic"),
        ("abs(x=1)", "not arithmetic"), ("1 if 1 else 2", "not arithmetic"), ("~1", "not arithmetic"),
        ("round(1.5, 10**9999)", "too large"), ("max()", "cannot calculate"), ("10**3000/10**1+0.5", "too large"),
    ],
)  # fmt: skip
def test_invalid_expressions_raise_retry(expression, message):
    with pytest.raises(Retry, match=message):
        calculator(expression)
    assert calculator.run(ToolCall("calculator", {"expression": expression})).status == "retry"


@given(st.text(max_size=40) | st.text("0123456789+-*/%().,eE sqrtgcdminmax", max_size=40))
def test_any_text_gets_a_reply(text):
    assert calculator.run(ToolCall("calculator", {"expression": text})).status in ("ok", "retry")


ODD = [
    "0",
    "7.",
    "0xf",
    "0b1",
    "1e5",
    "1j",
    "or",
    "and",
    "if",
    "else",
    "in",
    "is",
    "not",
    "for",
    "'\\d'",
    "(",
    ")",
    " ",
]


@given(st.lists(st.sampled_from(ODD), max_size=6).map("".join))
@example("1or 2")
@example("0xfor x in y")
@example("'\\d'")
def test_no_text_makes_python_warn(text):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        calculator.run(ToolCall("calculator", {"expression": text}))
    assert not said


@given(st.integers(-(10**6), 10**6), st.sampled_from("+-*/"), st.integers(-(10**6), 10**6))
def test_calculator_equals_exact_arithmetic(left, operator, right):
    expression = f"({left}){operator}({right})"
    if operator == "/" and right == 0:
        return
    exact = {"+": left + right, "-": left - right, "*": left * right}.get(operator) if operator != "/" else None
    exact = Fraction(left, right) if exact is None else Fraction(exact)
    result = calculator(expression)
    if exact.denominator == 1:
        assert result == str(exact.numerator)
    else:
        assert math.isclose(float(result), float(exact), rel_tol=1e-15)
