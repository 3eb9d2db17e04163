"""The ledger: round trips, transactions, damaged files."""

import pytest

from handaxe.core.errors import InputError
from handaxe.synthesis.draft import make_draft
from handaxe.synthesis.ledger import Ledger
from handaxe.synthesis.step import DraftOutcome

KEPT = DraftOutcome((make_draft("task", {"x": [1, "a"]}).noted({"n": 1}),), "", ({"role": "proposer", "read": 3},))


def test_outcomes_are_read_as_written_and_the_first_stays(tmp_path):
    ledger = Ledger(tmp_path / "a.sqlite")
    many = [(f"k{n}", "s", 1, "d", DraftOutcome((), f"reason {n}")) for n in range(1200)]
    ledger.put([("key", "step", 1, "draft", KEPT), *many])
    ledger.put([("key", "step", 1, "draft", DraftOutcome((), "other"))])
    ledger.close()
    again = Ledger(tmp_path / "a.sqlite")
    found = again.get(["key", "none", *(key for key, *_ in many)])
    assert found["key"] == KEPT and found["k1199"].reason == "reason 1199" and len(found) == 1201
    again.close()


def test_a_failed_commit_stores_nothing(tmp_path):
    ledger = Ledger(tmp_path / "a.sqlite")
    broken = DraftOutcome((KEPT.kept[0]._replace(payload={"x": object()}),))
    with pytest.raises(TypeError):
        ledger.put([("a", "s", 1, "d", KEPT), ("b", "s", 1, "d", broken)])
    assert ledger.get(["a", "b"]) == {}
    ledger.put([("a", "s", 1, "d", KEPT)])
    assert set(ledger.get(["a", "b"])) == {"a"}
    ledger.close()


def test_another_file_is_one_sentence(tmp_path):
    (tmp_path / "a.sqlite").write_text("no database, but long enough to be read as one" * 30)
    with pytest.raises(InputError, match="cannot be opened"):
        Ledger(tmp_path / "a.sqlite")
