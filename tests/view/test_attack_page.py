"""docs/lab.md: falls have reasons, and a changed line is found."""

import math

import pytest

from handaxe.evaluation.attack_trials import AttackResult, AttackTrial
from handaxe.evaluation.attacks import ATTACKS
from handaxe.view.attack_page import LabResults, lab_tables, stale


def one(attack, **given):
    made = AttackResult(attack, separated=2, fell=0, margin=0.0, scenes=2, paid=0, reward=0.1, oracle=1.0, wrong=0.1,
                    example="", unscored=0, failed="")  # fmt: skip
    return made._replace(**given)


def trial(name, world="sums", **given):
    return AttackTrial(name, world, [one(attack, **given.get(attack, {})) for attack in ATTACKS])


def page(*rewards, methods=()):
    return lab_tables(
        LabResults(
            rewards,
            methods,
            same=["plain"],
            skipped={"gate": "of its parts"},
            why={"bad(x=1)": "Because.", "world w": "Its world."},
        )
    )


def test_falls_are_listed_with_their_reasons():
    bad = trial("bad(x=1)", echo={"fell": 1, "margin": 0.6, "example": "what `is`\nit? \u0661" + "y" * 80})
    text = page(trial("good()"), bad, methods=[trial("other", "w", empty={"fell": 2, "margin": 1.0})])
    assert "Of 3 rewards, 3 measure correctness; 1 hold against every attack." in text
    assert "- `bad(x=1)` in sums: echo (1 of 2, such as `what 'is' it? \\u0661" in text and "...`). Because." in text
    assert "- `other` in w: empty (2 of 2). Its world." in text and "| **0.60** |" in text and text.isascii()
    assert (
        "## Not attacked\n\n- `gate`: of its parts" in text
        and "with the correctness rule of the world as reward: `plain`." in text
    )


def test_cells_show_paid_failed_and_unscored_attacks():
    form = {name: {"separated": 0, "margin": math.nan} for name in ATTACKS}
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
def test_stale_finds_a_changed_line_and_ignores_rounding(change, found):
    text = "x\n| `a()` | 0.50 |\n| `b()` | 0.60 |\n"
    assert bool(stale(text.replace(*change), text)) == found


def test_stale_ignores_unmeasured_rewards():
    old, new = "Of 2 rewards\n| `a()` | 0.50 |\n| `b()` | 0.60 |\n", "Of 1 rewards\n| `b()` | 0.60 |\n"
    assert stale(old, new) and not stale(old, new, unmeasured=["a()"])
