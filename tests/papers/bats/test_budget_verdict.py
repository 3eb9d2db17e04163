import pytest

from handaxe.core.errors import InputError
from handaxe.papers.bats.budget_verdict import best_verified, budget_verdict

YES = "satisfied"
NO = "contradicted"
OPEN = "unverifiable"


@pytest.mark.parametrize(
    "statuses, needed, remaining, decision",
    [
        ([YES, YES], 1, 0, "SUCCESS"),
        ([YES, OPEN], 1, 1, "CONTINUE"),
        ([YES, OPEN], 1, 0, "PIVOT"),
        ([YES, OPEN], 2, 1, "PIVOT"),
        ([YES, NO], 1, 9, "PIVOT"),
        ([OPEN, NO], 1, 9, "PIVOT"),
    ],
)
def test_decisions_by_hand(statuses, needed, remaining, decision):
    verdict = budget_verdict(statuses, needed=needed, remaining=remaining)
    assert verdict == (decision, tuple(statuses))


def test_the_best_answer_has_the_fewest_contradictions_then_the_most_satisfied():
    def best(*rows):
        return best_verified([budget_verdict(row, needed=1, remaining=1) for row in rows])

    assert best([YES, YES, NO], [YES, OPEN, OPEN]) == 1
    assert best([YES, OPEN], [YES, YES], [YES, YES]) == 1
    assert best([OPEN, OPEN], [OPEN, OPEN]) == 0


def test_nothing_to_verify_raises():
    with pytest.raises(InputError, match="without constraints"):
        budget_verdict([], needed=1, remaining=1)
    with pytest.raises(InputError, match="no answer"):
        best_verified([])
