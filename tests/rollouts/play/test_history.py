from handaxe.core.records import Message
from handaxe.rollouts.play.history import history, record_new_sequence, starts_beyond

SAID = [Message("user" if k in (0, 5) else "assistant", str(k)) for k in range(7)]


def test_history_starts_at_the_noted_messages_of_a_new_sequence():
    notes = {"anew": [{"read": [0, 5], "then": 6}]}
    assert history(SAID, notes) == [SAID[0], SAID[5], SAID[6]] and history(SAID, {}) == SAID
    assert starts_beyond(notes, 5) and not starts_beyond(notes, 6) and not starts_beyond({}, 0)


def test_the_last_new_sequence_counts():
    notes = {}
    record_new_sequence(SAID[:3], notes, [SAID[2]])
    record_new_sequence(SAID[:6], notes, [SAID[0], SAID[5]])
    assert notes == {"anew": [{"read": [2], "then": 3}, {"read": [0, 5], "then": 6}]}
    assert history(SAID, notes) == [SAID[0], SAID[5], SAID[6]]
