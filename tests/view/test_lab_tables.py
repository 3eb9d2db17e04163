"""Tables of `handaxe lab`: place of every figure, and marks of falls, paid attacks and failures."""

import io
import math

from rich.console import Console

from handaxe.evaluation.agreement import Agreement, ChannelSummary
from handaxe.evaluation.attack_trials import AttackResult, AttackTrial
from handaxe.evaluation.rescoring import Determinism
from handaxe.view.lab_tables import agreement_table, attack_table, channel_table, determinism_table, two_digits


def shown(table):
    terminal = Console(width=200, file=io.StringIO())
    terminal.print(table)
    return terminal.file.getvalue()


def tried(attack, **given):
    made = AttackResult(attack, separated=2, fell=0, margin=0.25, scenes=2, paid=0, reward=0.1, oracle=1.0, wrong=0.05,
                    example="", unscored=0, failed="")  # fmt: skip
    return made._replace(**given)


def test_attack_table_shows_margins_shares_and_failures():
    right = AttackTrial(
        "right", "w", [tried("empty", fell=1, margin=0.5), tried("echo"), tried("long", failed="it hangs")]
    )
    form = AttackTrial("form", "w", [tried(name, separated=0, margin=math.nan) for name in ("empty", "echo")])
    text = shown(attack_table([right, form]))
    rows = {line.split()[0]: line.split()[1:] for line in text.split("\n") if line.split()}
    assert rows["empty"] == ["0.50", "1/2", "0.10"] and rows["echo"] == ["0.25", "0.10"]
    assert rows["long"] == ["fails", "-"] and rows["oracle"] == ["1.00", "1.00"] and rows["wrong"] == ["0.05", "0.05"]


def test_markup_in_names_is_plain_text():
    assert "[red]x[/red]" in shown(attack_table([AttackTrial("[red]x[/red]", "w", [tried("empty")])]))


def test_channel_agreement_and_determinism_tables():
    along = {"tokens": 0.5, "calls": math.nan, "turns": -0.25}
    channel = ChannelSummary("reward", 48, 0.5, 0.1, (0.0, 0.2, 0.4, 0.6, 1.0), 0.75, along)
    text = shown(channel_table([channel], title="mine"))
    row = next(line.split() for line in text.split("\n") if line.split()[:1] == ["reward"])
    assert row[1] == "48" and row[-4:] == ["0.750", "0.500", "-", "-0.250"]
    text = shown(agreement_table({"other": Agreement(48, 0.5, 0.1, 0.2, math.nan)}, against="the record"))
    assert "agreement with the record" in text and "0.200" in text
    text = shown(determinism_table({"dice": (Determinism(9, 3, 4, 0.5, "task: it raised"), 1.25)}))
    assert "task: it raised" in text and "1.250" in text


def test_two_digits_has_no_negative_zero_and_a_dash_for_nan():
    assert [two_digits(x) for x in (1.0, -0.001, math.nan, -2.517)] == ["1.00", "0.00", "-", "-2.52"]
