import pytest

from handaxe.core.errors import InputError
from handaxe.papers.red_team.finding_report import Breach, severity, unique_findings


@pytest.mark.parametrize(
    "kind, score, value, level",
    [
        ("deleted", 0.7, 2.1, "high"),
        ("withheld", 0.7, 0.7, "low"),
        ("paid", 0.5, 1.0, "medium"),
        ("paid", 1, 2.0, "high"),
    ],
)
def test_severity_by_hand(kind, score, value, level):
    found = severity(kind, score)
    assert found[0] == pytest.approx(value, abs=1e-9) and found[1] == level


def test_duplicates_share_kind_and_text():
    first = Breach("deleted", ("bonus",), 0.7, (1.0, 0.0))
    same = Breach("deleted", ("steps",), 0.9, (2.0, 0.1))
    other_text = Breach("deleted", (), 0.7, (0.0, 1.0))
    other_kind = Breach("paid", (), 0.7, (1.0, 0.0))
    assert unique_findings([first, same, other_text, other_kind, same]) == [first, other_text, other_kind]
    assert unique_findings([first, same], threshold=1.0) == [first, same]
    assert unique_findings([]) == []


def test_unique_findings_are_stable():
    many = [Breach("deleted", (), 0.7, (1.0, float(one))) for one in range(6)]
    kept = unique_findings(many)
    assert unique_findings(kept) == kept and set(kept) <= set(many)


@pytest.mark.parametrize("kind, score", [("other", 0.5), ("paid", 1.2)])
def test_bad_severities_are_input_errors(kind, score):
    with pytest.raises(InputError, match="severity"):
        severity(kind, score)


def test_a_threshold_of_0_is_an_input_error():
    with pytest.raises(InputError, match="threshold is 0"):
        unique_findings([], threshold=0)
