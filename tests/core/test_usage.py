"""Usage: hand-worked sums over turns, their replies and other usages."""

from helpers.image_records import noise

from handaxe.core.records import ParsedTurn, Sampling, ToolCall, ToolReply, Turn
from handaxe.core.usage import Usage


def turn(start, stop, *, calls=0, seconds=0.0, cost=0.0, replies=()):
    parsed = ParsedTurn("", tuple(ToolCall("f", {}, f"c{k}") for k in range(calls)))
    return Turn(0, start, stop, parsed, "stop", Sampling(), 0, tuple(replies), seconds, cost)


def test_usage_of_turns_sums_tokens_calls_seconds_and_cost():
    """5 + 3 tokens, 2 calls, 1 + 0.5 + 0.25 + 2 seconds, and the cost of sampling and of one reply."""
    replies = [ToolReply("c0", "f", "x", seconds=0.5, cost=3.0), ToolReply("c1", "f", "y", seconds=0.25)]
    turns = [turn(2, 7, calls=2, seconds=1.0, cost=1.0, replies=replies), turn(9, 12, seconds=2.0)]
    assert Usage.of(turns) == Usage(8, 2, 3.75, 4.0) and Usage.of([]) == Usage()


def test_plus_adds_every_part():
    assert Usage(1, 2, 3.0, 4.0).plus(Usage(10, 20, 30.0, 40.0)) == Usage(11, 22, 33.0, 44.0)
    assert Usage(1, 0, 0.5, 0.0).plus_turn(turn(0, 4, calls=1, seconds=0.5)) == Usage(5, 1, 1.0, 0.0)


def test_images_of_results_count_with_their_tokens():
    """Two results of one turn with three images, of 4, 4 and 2 tokens."""
    same, small = noise(0, 16, 16), noise(1, 16, 8)
    replies = [ToolReply("c0", "f", "x", images=(same, small)), ToolReply("c1", "f", "y", images=(same,))]
    seen = [turn(0, 3, calls=2, replies=replies), turn(5, 6)]
    assert Usage.of(seen, lambda image: image.width * image.height // 64) == Usage(4, 2, images=3, image_tokens=10)
    assert Usage.of(seen) == Usage(4, 2, images=3), "the number of tokens depends on the policy"


def test_minus_is_the_inverse_of_plus():
    one, other = Usage(1, 2, 3.0, 4.0, 5, 6), Usage(10, 20, 30.0, 40.0, 50, 60)
    assert one.plus(other) == Usage(11, 22, 33.0, 44.0, 55, 66) and one.plus(other).minus(other) == one


def test_numbers_without_images_are_those_of_before():
    assert Usage(1, 2, 3.0, 4.0).numbers() == [1, 2, 3.0, 4.0]
    assert Usage(*Usage(1, 2, 3.0, 4.0, 5, 6).numbers()) == Usage(1, 2, 3.0, 4.0, 5, 6)
