import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt, Rendered
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.training.sft.scripted import trajectory_from_messages


def conversation(world):
    call = ToolCall("add", {"numbers": "1 2"})
    return (
        Message("user", "t?"),
        Message("assistant", "let me see", (call,)),
        Message("tool", "1 2"),
        Message("assistant", "3"),
    )


def test_it_is_the_trajectory_that_a_rollout_of_the_same_words_makes(world):
    """Ids, authors, turns, calls, replies and messages; all but what sampling adds."""
    words = {0: ("let me see", ToolCall("add", {"numbers": "1 2"})), 1: "3"}
    engine = world.Talking(lambda request: words[request.turn])
    attempt = Attempt(world.task("t"), world.Chat, world.FORMAT, Sampling(), "t/0", 0, 5, 96)
    ((rollout,),) = driver.run([attempt], linear(max_turns=3), engine)
    built = trajectory_from_messages(world.FORMAT, conversation(world), (world.SCHEMA,))
    (a,), (b,) = rollout.sequences, built.sequences
    for name in ("ids", "author", "turn"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert getattr(a, name).dtype == getattr(b, name).dtype
    assert built.messages[0] == rollout.messages[0] and built.tools == rollout.tools
    assert [m.calls for m in built.messages] == [m.calls for m in rollout.messages]
    assert [(t.start, t.stop, t.sequence) for t in built.turns] == [
        (t.start, t.stop, t.sequence) for t in rollout.turns
    ]
    assert [t.parsed for t in built.turns] == [t.parsed for t in rollout.turns]
    assert [r.call_id for r in built.replies] == [r.call_id for r in rollout.replies] == ["t0c0"]
    again = trajectory_from_messages(world.FORMAT, rollout.messages, rollout.tools, task=rollout.task)
    np.testing.assert_array_equal(again.sequences[0].ids, a.ids)
    np.testing.assert_array_equal(again.sequences[0].mask, a.mask)


def test_replies_find_their_calls():
    calls = (ToolCall("f", {}, "x"), ToolCall("g", {}, "y"))
    for ids in (("y", "x"), ("", "")):
        messages = (
            Message("user", "?"),
            Message("assistant", "", calls),
            Message("tool", "one", call_id=ids[0]),
            Message("tool", "two", call_id=ids[1]),
            Message("assistant", "ok"),
        )
        built = trajectory_from_messages(Compact(), messages, id="c", task=Task("q", ()))
        expected = [("t0c1", "g"), ("t0c0", "f")] if ids[0] else [("t0c0", "f"), ("t0c1", "g")]
        assert [(r.call_id, r.name) for r in built.replies] == expected
        assert built.task.id == "q" and built.id == "c"


def test_a_format_that_rewrites_history_begins_a_new_sequence(world):
    class Forgets(Compact):
        def extend(self, history, new, last_ids, tools):
            part = self.start([*[m for m in history if m.role == "user"], *new], tools)
            return Rendered(part.ids, part.authors, fresh=True)

    built = trajectory_from_messages(Forgets(), conversation(world), (world.SCHEMA,))
    check(built)
    assert len(built.sequences) == 2 and [turn.sequence for turn in built.turns] == [0, 1]


def test_what_is_no_demonstration():
    user, said = Message("user", "?"), Message("assistant", "a")
    for wrong in ((user,), (user, said, user), ()):
        with pytest.raises(InputError, match="must end with what the assistant says"):
            trajectory_from_messages(Compact(), wrong)
    with pytest.raises(InputError, match="follow each other"):
        trajectory_from_messages(Compact(), (user, said, said))
