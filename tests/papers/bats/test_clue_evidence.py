from handaxe.papers.bats.clue_evidence import clue_evidence
from handaxe.papers.bats.clue_search import Clue

BOSS = Clue("boss", "4071")
HEIR = Clue("heir", "5526")
IDOL = Clue("idol", "9931")
TEXT = """boss 4071 1: 1234 8812 more
boss 4071 2: 3000 end
heir 5526 1: 1234 more
8812: ally 1111 boss 4071 heir 2222 idol 9931
not: 3000"""


def test_statuses_by_hand():
    found = clue_evidence(TEXT)
    assert found.listed == {BOSS: ["1234", "8812", "3000"], HEIR: ["1234"]}
    assert found.complete == {BOSS} and found.pages == {BOSS: 2, HEIR: 1} and found.ruled_out == {"3000"}
    clues = [BOSS, HEIR, IDOL]
    assert found.statuses("1234", clues) == ["satisfied", "satisfied", "unverifiable"]
    assert found.statuses("8812", clues) == ["satisfied", "contradicted", "satisfied"]
    assert found.statuses("3000", clues) == ["contradicted"] * 3
    assert found.statuses("7777", clues) == ["contradicted", "unverifiable", "unverifiable"]


def test_repeated_results_count_once():
    assert clue_evidence(f"{TEXT}\n{TEXT}") == clue_evidence(TEXT)
    assert clue_evidence(TEXT).lines == TEXT.splitlines()[:3]


def test_calls_plans_and_trackers_are_no_evidence():
    text = "find boss 4071 1<CALL_END>plan: [x] explore boss 4071 (find 2); check 1234\nfind used: 1, remaining: 3"
    found = clue_evidence(text)
    assert not (found.listed or found.facts or found.ruled_out or found.complete)
