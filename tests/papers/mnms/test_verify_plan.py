import pytest

from handaxe.papers.mnms.plan import parse_plan
from handaxe.papers.mnms.verify_plan import Signature, verify_plan

TOOLS = {
    "zoom": Signature({"box": "text"}, {"image": "image"}),
    "ocr": Signature({"image": "image"}, {"number": "number"}),
    "add": Signature({"left": "number", "right": "number"}, {"value": "number"}),
}


def faults(code):
    return verify_plan(parse_plan(code), TOOLS)


def test_a_sound_plan_has_no_faults():
    assert faults('zoom(box="0 0 2 2");ocr(image=n0.image);add(left=n1.number,right="3")') == []


@pytest.mark.parametrize(
    "code, fault",
    [
        ('crop(box="1")', "node 0: there is no tool crop"),
        ('zoom(picture="1")', "node 0: zoom takes box, not picture"),
        ('add(left="1")', "node 0: add takes left right, not left"),
        ("zoom()", "node 0: zoom takes box, not nothing"),
        ('ocr(image="1")', "node 0: image is no image"),
        ("ocr(image=n0.image)", "node 0: node 0 does not come before"),
        ("ocr(image=n1.image)", "node 0: node 1 does not come before"),
        ('zoom(box="1");ocr(image=n0.text)', "node 1: node 0 has no output text"),
        ('add(left="1",right="2");ocr(image=n0.value)', "node 1: image is image, not number"),
        ('zoom(box="1");add(left=n0.image,right="2")', "node 1: left is number, not image"),
    ],
)
def test_a_fault_names_node_and_reason(code, fault):
    assert faults(code) == [fault]


def test_faults_are_in_the_order_of_nodes():
    found = faults('crop(box="1");ocr(image=n0.image);zoom()')
    assert [one[:6] for one in found] == ["node 0", "node 1", "node 2"]
