import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER
from handaxe.core.records import Message, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.cooper.judged_message import judged_message, judged_trajectory

TASK = Task("t", (Message("user", "6 * 7"),), "42")


def test_messages_match_the_docstring_example():
    assert judged_message(TASK, "41", reference=True).content == "6 * 7\n42\n41"
    assert judged_message(TASK, "41", reference=False).content == "6 * 7\n41"


def test_the_last_message_of_the_task_is_the_question_and_its_images_stay():
    asked = Message.of("user", "What? ", noise(1, 8, 8))
    made = judged_message(Task("t", (Message("system", "Be brief."), asked), 5), "6", reference=True)
    assert made.content == f"What? {PLACEHOLDER}\n5\n6" and made.images == asked.images


def test_a_task_without_a_reference_is_refused():
    task = Task("t", TASK.messages)
    with pytest.raises(InputError, match="task 't' has no reference answer"):
        judged_message(task, "41", reference=True)
    assert judged_message(task, "41", reference=False).content == "6 * 7\n41"


def test_the_turn_is_empty_and_follows_the_whole_message():
    made = judged_trajectory(Compact(), TASK, "41", reference=True, id="a")
    assert (made.id, made.task, made.final_text, len(made.turns)) == ("a", TASK, "", 1)
    (sequence,) = made.sequences
    start, stop = made.turns[0].start, made.turns[0].stop
    assert stop == start + 1 == len(sequence.ids), "the turn has the stop id alone"
    read = [byte for byte in sequence.ids[:start] if byte < 256]
    assert bytes(read).decode() == "6 * 7\n42\n41"
