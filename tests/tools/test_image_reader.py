import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import ToolCall
from handaxe.tools.image_reader import image_reader

IMAGE = Image.of(np.zeros((40, 60, 3), np.uint8))


def sizes(image):
    """A recognizer that reads the size, and nothing of a square."""
    return () if image.width == image.height else (f"width {image.width}", f"height {image.height}")


def made(**options):
    return image_reader(name="size", about="Read the size of an image", lines=sizes, nothing="a square", **options)


def run(reader, **arguments):
    return reader.run(ToolCall("size", arguments), images=(IMAGE,))


def test_lines_of_the_image_of_a_box_and_of_none():
    assert run(made(), image=1).content == "width 60\nheight 40"
    assert run(made(), image=1, box=[0, 0, 20, 30]).content == "width 20\nheight 30"
    assert run(made(unit="per_mille"), box=[0, 0, 500, 250]).content == "width 30\nheight 10"
    assert run(made(), box=[0, 0, 20, 20]).content == "a square"


def test_without_boxes_the_tool_has_one_parameter():
    with_box, without = made().schema, made(boxes=False).schema
    assert set(with_box.parameters["properties"]) == {"image", "box"}
    assert set(without.parameters["properties"]) == {"image"}
    assert with_box.description == "Read the size of an image, or of a part of it."
    assert without.description == "Read the size of an image."


def test_a_bad_box_and_an_unknown_image_are_answered_with_a_reason():
    assert run(made(), box=[0, 0, 4, 30]).status == "retry"
    assert run(made(), image=2).status == "retry"


@pytest.mark.parametrize("wrong", [{"unit": "percent"}, {"smallest": 0}])
def test_bad_options_are_one_sentence(wrong):
    with pytest.raises(InputError):
        made(**wrong)
