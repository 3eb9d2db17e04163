"""Computations of worked solutions: pattern, threshold, form of the code, and agreement of values."""

import pytest

from handaxe.synthesis.computations import computations, values_agree


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12 x 30 = $360.", [("", "12*30", "360")]),
        ("so 12 \u00d7 30\u00f74 = \u20ac90", [("so", "12*30/4", "90")]),
        ("1,200 - 200 = 1,000 left", [("", "1200-200", "1,000")]),
        ("12*12=144, so 12*13 = 156.", [("", "12*12", "144"), ("144, so", "12*13", "156")]),
        ("0.5*30=15.0, then 15 +1= 16", [("", "0.5*30", "15.0"), ("15.0, then", "15+1", "16")]),
        ("48=48", []),
        ("3*4=12", []),
        ("160*30=48%", []),
        ("25*50=12.5% and 5*200=1,000%", []),
        ("x12+1=13, 2(47+30) = 154", []),
        ("1-2-30=-31", [("", "1-2-30", "-31")]),
        ("", []),
    ],
)
def test_computations_are_found_by_pattern(text, found):
    made = computations(text)
    assert [tuple(one)[:3] for one in made] == found
    assert all(text[one.stop :].startswith(one.value) for one in made)


def test_easy_computations_stay_text():
    assert [one.code for one in computations("3*4=12 and 12*30=360", easy=0)] == ["3*4", "12*30"]
    assert [one.code for one in computations("3*4=12 and 12*30=360", easy=31)] == []


def test_a_form_makes_a_program_of_an_expression():
    (one,) = computations("so 12 x 30 = $360.", form="print({})")
    assert one == ("so", "print(12*30)", "360", 14)


@pytest.mark.parametrize(
    ("stated", "reply", "agree"),
    [
        ("82.3", "82.26", True),
        ("82.3", "82.2", False),
        ("82", "82.0", True),
        ("1,200", "1200", True),
        ("$82.3 ", "82.26", True),
        ("83", "82", False),
        ("82", "many", None),
        ("many", "82", None),
    ],
)
def test_a_reply_may_have_more_decimals_than_the_text(stated, reply, agree):
    assert values_agree(stated, reply) is agree
