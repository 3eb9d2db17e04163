import io

from rich.console import Console

from handaxe.doctor.finding import Finding
from handaxe.doctor.findings_table import findings_table, summary


def test_findings_table_shows_the_remedy_below_the_finding():
    console = Console(file=io.StringIO(), width=80)
    console.print(findings_table([Finding("mask", "error", "a tool token trains", "mask it")], title="Doctor"))
    lines = [line.strip() for line in console.file.getvalue().splitlines()]
    assert "Doctor" in lines[0]
    (found,) = [place for place, line in enumerate(lines) if "a tool token trains" in line]
    assert lines[found].startswith("mask") and "error" in lines[found] and lines[found + 1] == "-> mask it"


def test_summary_counts_the_findings_of_each_level():
    levels = ["error", "warning", "warning", "ok"]
    assert summary([Finding("a", level, "") for level in levels]) == "1 error, 2 warnings, 1 ok"
    assert summary([]) == "0 ok"
