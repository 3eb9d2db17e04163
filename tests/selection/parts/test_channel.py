from handaxe.selection.parts.channel import channel_inside
from handaxe.testing.records import make_rated, make_scores


def test_its_own_name_then_the_only_one_inside():
    def found(channel, *names):
        return channel_inside(
            make_rated(scores=make_scores([0.0], channels={n: [1.0] for n in names}), outcome=[0.0]), channel
        )

    assert found("correct", "a", "a/correct") == "a/correct"
    assert found("correct", "correct", "a/correct") == "correct"
    assert found("correct", "a/correct", "b/correct") == "correct"
    assert found("correct", "a/incorrect") == "correct"
    assert found(None, "a") is None
