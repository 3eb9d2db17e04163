import re

import numpy as np
import pytest

from handaxe.core.check_tasks import check_tasks, describe_value
from handaxe.core.errors import TaskError
from handaxe.core.images import Image
from handaxe.core.records import Message, Task
from handaxe.curricula.in_order import in_order

ASKED = {"role": "user", "content": "2+2?"}
SYSTEM = Message("system", "Be brief.")


def of(messages):
    return [Task("t1", messages)]


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([ASKED], "among the tasks is a dict: write Task('my-id', (Message('user', 'What is 2+2?'),), answer='4')"),
        (["2+2?"], "among the tasks is the text '2+2?': write Task("),
        (of("2+2?"), "the messages of task 't1' are text: write (Message('user', '2+2?'),)"),
        (of((SYSTEM, ASKED)), "message 1 of task 't1' is a dict: write Message('user', '2+2?')"),
        (of(("2+2?",)), "message 0 of task 't1' is the text '2+2?': write Message('user', '2+2?')"),
        (of((Message("human", "2+2?"),)), "has the role 'human'; roles are system, user, assistant, tool"),
    ],
)
def test_wrong_tasks_and_messages_are_errors_with_the_correct_form(tasks, message):
    for handed in (check_tasks, in_order):
        with pytest.raises(TaskError, match=re.escape(message)):
            handed(tasks)


def test_valid_tasks_pass_and_describe_value_names_the_type():
    check_tasks(of((SYSTEM, Message("user", "2+2?"))))
    assert (describe_value({}), describe_value("tiny"), describe_value(None)) == ("a dict", "the text 'tiny'", "None")
    assert describe_value("x" * 1000) == "a text"


def test_other_numbers_of_placeholders_and_images_are_errors():
    image = Image.of(np.zeros((1, 1, 3), np.uint8))
    check_tasks(of((Message.of("user", "What is ", image, "?"),)))
    with pytest.raises(TaskError, match="message 0 of task 't1' has 1 images and 0 image placeholders in its text: "):
        check_tasks(of((Message("user", "What is this?", images=(image,)),)))
