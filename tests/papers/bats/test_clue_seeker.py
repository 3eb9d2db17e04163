import pytest

from handaxe.papers.bats.clue_seeker import clue_seeker

ASKED = "<USER>boss 4071 heir 5526 idol 9931?<END>"
LISTED = "<TOOL>boss 4071 1: 1234 8812 more<END>"
WRONG = "<TOOL>1234: ally 1000 boss 4071 heir 2222 idol 9931<END>"
RIGHT = "<TOOL>8812: ally 1000 boss 4071 heir 5526 idol 9931<END>"


def told(find, open):
    return f"<USER>find used: {find[0]}, remaining: {find[1]}\nopen used: {open[0]}, remaining: {open[1]}<END>"


def said(*parts, patience=4):
    words = clue_seeker(patience=patience)(ASKED + "".join(parts), 0)
    return words if isinstance(words, str) else " ".join([words.name, *words.arguments.values()])


@pytest.mark.parametrize(
    "parts, expected",
    [
        ((), "find boss 4071 1"),
        ((LISTED,), "open 1234"),
        ((LISTED, WRONG), "open 8812"),
        ((LISTED, WRONG, RIGHT), "8812"),
        ((LISTED, "<TOOL>heir 5526 1: 8812 more<END>"), "8812"),  # two clues of three, and the third unread
        ((LISTED, "<TOOL>heir 5526 1: 8812 more<END>", "<USER>check 8812<END>"), "open 8812"),
        ((LISTED, "<USER>not: 1234<END>"), "open 8812"),
        ((LISTED, "<USER>not: 1234 8812<END>"), "find boss 4071 2"),
        ((LISTED, "<TOOL>no call of open is left<END>"), "find boss 4071 2"),
        ((LISTED, "<TOOL>no call of open is left<END>", "<TOOL>no call of find is left<END>"), "1234"),
        (("<TOOL>no call of find is left<END>",), "none"),
    ],
)
def test_actions_without_a_tracker(parts, expected):
    assert said(*parts) == expected


def test_without_a_tracker_the_policy_gives_up_after_some_pages():
    assert said(LISTED, WRONG, patience=1) == "8812"
    assert said(LISTED, WRONG, told((1, 3), (1, 3)), patience=1) == "open 8812"


@pytest.mark.parametrize(
    "parts, expected",
    [
        ((LISTED, told((1, 3), (0, 4))), "open 1234"),  # the greater share
        ((LISTED, told((1, 3), (2, 2))), "find heir 5526 1"),  # 0.75 is HIGH: another clue
        ((LISTED, told((1, 1), (3, 1))), "find boss 4071 2"),  # 0.5 is MEDIUM: the list that began
        ((LISTED, told((1, 3), (1, 3))), "open 1234"),  # equal shares
        ((LISTED, told((4, 0), (3, 1))), "open 1234"),  # CRITICAL
        ((LISTED, told((4, 0), (4, 0))), "1234"),
        ((LISTED, told((15, 1), (15, 1))), "1234"),  # a sixteenth is CRITICAL
        ((told((0, 4), (0, 4)), LISTED, told((4, 0), (4, 0))), "1234"),  # the last block counts
    ],
)
def test_actions_with_a_tracker(parts, expected):
    assert said(*parts) == expected


def test_a_plan_orders_the_lists():
    plan = "<USER>plan: [ ] verify boss 4071; [ ] explore idol 9931; [ ] explore ally 1<END>"
    assert said(plan) == "find idol 9931 1"
    assert said(plan, "<TOOL>idol 9931 1: end<END>") == "find boss 4071 1"
