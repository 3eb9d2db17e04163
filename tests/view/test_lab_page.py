"""The page of the lab: what falls is listed with its reason, and a line that differs is found."""

import math

import pytest

from handaxe.evaluation.attacks import ATTACKS
from handaxe.evaluation.lab import Attacked, AttackTrial
from handaxe.view.lab_page import LabResults, lab_tables, stale


def one(attack, **given):
    made = Attacked(attack, told=2, fell=0, margin=0.0, scenes=2, paid=0, reward=0.1, oracle=1.0, wrong=0.1,
                    example="", unscored=0, failed="")  # fmt: skip
    return made._replace(**given)


def trial(said, world="sums", **given):
    return AttackTrial(said, world, [one(name, **given.get(name, {})) for name in ATTACKS])


def page(*rewards, recipes=()):
    return lab_tables(
        LabResults(
            rewards,
            recipes,
            plain=["plain"],
            left_out={"gate": "of its parts"},
            explained={"bad": "Because.", "world w": "Its world."},
        )
    )


def test_what_falls_is_listed_with_its_reason():
    bad = trial("bad(x=1)", echo={"fell": 1, "margin": 0.6, "example": "what `is`\nit? \u0661" + "y" * 80})
    text = page(trial("good()"), bad, recipes=[trial("other", "w", empty={"fell": 2, "margin": 1.0})])
    assert "Of 3 rewards tried, 3 say what is right; 1 of these hold against every attack." in text
    assert "- `bad(x=1)` in sums: echo (1 of 2, such as `what 'is' it? \\u0661" in text and "...`). Because." in text
    assert "- `other` in w: empty (2 of 2). Its world." in text and "| **0.60** |" in text and text.isascii()
    assert "Not tried: `gate`, since of its parts." in text and "pay what their world pays: `plain`." in text


def test_cells_of_what_pays_fails_or_is_undecided():
    form = {name: {"told": 0, "margin": math.nan} for name in ATTACKS}
    form["empty"] |= {"paid": 1, "reward": 0.9}
    lines = page(
        trial("form()", **form), trial("odd()", echo={"failed": "it raised"}, long={"scenes": 0, "unscored": 3})
    )
    (row,) = [line for line in lines.split("\n") if line.startswith("| `form()`")]
    assert "| **0.90** | 0.10 |" in row
    (row,) = [line for line in lines.split("\n") if line.startswith("| `odd()`")]
    assert "| fails |" in row and "| unscored |" in row and "-0.00" not in row


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("| 0.60 |", "| 0.61 |"), False),
        (("| 0.60 |", "| 0.70 |"), True),
        (("| 0.60 |", "| **0.60** |"), True),
        (("`b()`", "`c()`"), True),
        (("x", "x\nmore"), True),
    ],
)
def test_a_line_that_differs_is_found(change, found):
    text = "x\n| `a()` | 0.50 |\n| `b()` | 0.60 |\n"
    assert bool(stale(text.replace(*change), text)) == found


def test_lines_that_were_not_measured_are_left_alone():
    old, new = "Of 2 rewards\n| `a()` | 0.50 |\n| `b()` | 0.60 |\n", "Of 1 rewards\n| `b()` | 0.60 |\n"
    assert stale(old, new) and not stale(old, new, unmeasured=["a()"])
