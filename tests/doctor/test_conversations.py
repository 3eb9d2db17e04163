from handaxe.doctor.conversations import conversations


def test_conversations_are_of_every_kind_and_end_with_another_speaker():
    found = conversations(count=12, seed=3)
    assert len({one.kind for one in found}) == 6 and found == conversations(count=12, seed=3)
    assert all(one.messages[-1].role != "assistant" for one in found)
    assert any(len(message.calls) == 2 for one in found for message in one.messages)
