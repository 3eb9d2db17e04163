from handaxe.core.records import Message, Task
from handaxe.papers.bats.clue_guide import ClueGuide
from handaxe.papers.bats.limited_tools import ToolLedger
from handaxe.testing.make_records import make_trajectory

CLUES = [["boss", "4071"], ["heir", "5526"], ["idol", "9931"]]
TASK = Task("t", (Message("user", "boss 4071 heir 5526 idol 9931?"),), "8812", None, {"clues": CLUES})
LISTS = ["boss 4071 1: 1234 8812 more", "heir 5526 1: 1234 8812 end"]


def attempt(answer, *results):
    return make_trajectory(
        texts=["", answer], calls=[["find"] * len(results), []], replies=[list(results), []], task=TASK
    )


def reviewed(guide, ledger, *attempts):
    guide.opening(ledger)
    return guide.review(attempts, ledger).decision


def test_an_unverifiable_answer_is_to_be_checked():
    guide, ledger = ClueGuide(TASK), ToolLedger({"find": 4, "open": 4})
    assert guide.opening(ledger) == "plan: [ ] explore boss 4071; [ ] verify heir 5526; [ ] verify idol 9931"
    ledger.used.update(find=2)
    first = attempt("1234", *LISTS)
    assert reviewed(guide, ledger, first) == "CONTINUE"
    assert guide.opening(ledger).splitlines() == [
        "plan: [~] explore boss 4071 (find 1); [x] verify heir 5526 (find 1); [ ] verify idol 9931",
        *LISTS,
        "check 1234",
    ]
    # the page contradicts the answer, and the other name is proposed: both requests stay in the summary
    ledger.used.update(open=1)
    second = attempt("8812", "1234: ally 1000 boss 4071 heir 5526 idol 2222")
    assert reviewed(guide, ledger, first, second) == "CONTINUE"
    assert guide.opening(ledger).splitlines()[-3:] == ["not: 1234", "check 1234", "check 8812"]
    assert "idol 9931 (open 1)" in guide.plan.text()
    third = attempt("8812", "8812: ally 1000 boss 4071 heir 5526 idol 9931")
    assert reviewed(guide, ledger, first, second, third) == "SUCCESS"


def test_a_contradicted_answer_is_ruled_out_and_another_clue_explored():
    guide, ledger = ClueGuide(TASK), ToolLedger({"find": 4, "open": 4})
    assert reviewed(guide, ledger, attempt("7777", *LISTS)) == "PIVOT"
    text = guide.opening(ledger)
    assert "not: 7777" in text and "; [ ] explore idol 9931" in text and "check" not in text


def test_an_appended_node_has_the_status_of_its_clue():
    guide, ledger = ClueGuide(TASK), ToolLedger({"find": 4, "open": 4})
    assert (
        reviewed(guide, ledger, attempt("7777", LISTS[0].replace("more", "end"), LISTS[1].replace("end", "more")))
        == "PIVOT"
    )
    assert guide.opening(ledger).splitlines()[0].endswith("; [~] explore heir 5526")


def test_an_answer_that_cannot_be_checked_is_a_pivot():
    guide, ledger = ClueGuide(TASK), ToolLedger({"find": 4, "open": 0})
    assert reviewed(guide, ledger, attempt("1234", *LISTS)) == "PIVOT"


def test_the_reference_answer_is_not_read():
    guide, ledger = ClueGuide(TASK), ToolLedger({"find": 4, "open": 4})
    assert reviewed(guide, ledger, attempt("8812", *LISTS)) == "CONTINUE"
