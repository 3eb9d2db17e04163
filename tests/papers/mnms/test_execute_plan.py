import numpy as np
import pytest

from handaxe.core.images import Image
from handaxe.papers.mnms.execute_plan import execute_plan
from handaxe.papers.mnms.plan import PlanError, parse_plan

IMAGE = Image.of(np.zeros((4, 4, 3), np.uint8))


def look(args):
    return {"image": IMAGE}


def read(args):
    if args["image"] is not IMAGE:
        raise PlanError("another image")
    return {"number": 12, "price": 30}


def join(args):
    return {"text": args["text"]}


TOOLS = {"look": look, "read": read, "join": join}


def run(code):
    return execute_plan(parse_plan(code), TOOLS)


def test_outputs_replace_references_and_an_image_stays_an_image():
    assert run("look();read(image=n0.image)") == "12"
    assert run("look();read(image=n0.image);join(text=n1.number+n1.price)") == "12+30"


def test_a_failing_tool_and_an_image_at_the_end_name_the_node():
    with pytest.raises(PlanError, match="execute: node 1: another image"):
        run('look();read(image="x")')
    with pytest.raises(PlanError, match="execute: the last node gives an image"):
        run("look()")
