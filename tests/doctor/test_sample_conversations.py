from handaxe.doctor.sample_conversations import make_conversations


def test_conversations_have_every_kind_and_never_end_with_the_assistant():
    found = make_conversations(count=12, seed=3)
    assert len({one.kind for one in found}) == 6 and found == make_conversations(count=12, seed=3)
    assert all(one.messages[-1].role != "assistant" for one in found)
    assert any(len(message.calls) == 2 for one in found for message in one.messages)
