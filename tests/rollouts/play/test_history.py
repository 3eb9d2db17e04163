from handaxe.core.records import Message
from handaxe.rollouts.play.history import begun_after, history, note_anew

SAID = [Message("user" if k in (0, 5) else "assistant", str(k)) for k in range(7)]


def test_example():
    notes = {"anew": [{"read": [0, 5], "then": 6}]}
    assert history(SAID, notes) == [SAID[0], SAID[5], SAID[6]] and history(SAID, {}) == SAID
    assert begun_after(notes, 5) and not begun_after(notes, 6) and not begun_after({}, 0)


def test_the_last_beginning_counts():
    notes = {}
    note_anew(SAID[:3], notes, [SAID[2]])
    note_anew(SAID[:6], notes, [SAID[0], SAID[5]])
    assert notes == {"anew": [{"read": [2], "then": 3}, {"read": [0, 5], "then": 6}]}
    assert history(SAID, notes) == [SAID[0], SAID[5], SAID[6]]
