import pytest

from handaxe.core.errors import InputError
from handaxe.papers.robotool.workbench import BenchThing, SkillError, Workbench

MILK = BenchThing("milk", 90)
HOOK = BenchThing("hook", 30, 40, hook=True)
BOARD = BenchThing("board", 20, 60, strength=60)
GAP = BenchThing("gap", 80, 40)
BUTTON = BenchThing("button", 85)
SOFA = BenchThing("sofa", 120, 80, height=60)
BOX, STOOL = BenchThing("box", 30, 20, height=40, strength=80), BenchThing("stool", 30, 20, height=20, strength=80)
CRATE = BenchThing("crate", 120, 40, mass=50, strength=200)
BEAM, BLOCK = BenchThing("beam", 30, 80, mass=4, strength=100), BenchThing("block", 30, 10, strength=100)


def bench(*things, steps=()):
    made = Workbench(things)
    for name, *arguments in steps:
        getattr(made, name)(*arguments)
    return made


def fails(kind, things, *steps, message=None):
    made = bench(*things, steps=steps[:-1])
    before = (dict(made.things), made.held, list(made.placed), set(made.done))
    name, *arguments = steps[-1]
    with pytest.raises(SkillError, match=message) as caught:
        getattr(made, name)(*arguments)
    assert caught.value.kind == kind
    assert before == (made.things, made.held, made.placed, made.done)


def test_workbench_matches_its_example():
    steps = [("grasp", "hook"), ("pull", "milk", 50), ("release",), ("grasp", "milk")]
    made = bench(MILK, HOOK, steps=steps)
    assert made.held == "milk" and made.things["milk"].at == 40


def test_grasp():
    fails("logical", [MILK], ("grasp", "milk"), message="out of reach")
    fails("logical", [HOOK], ("grasp", "none"), message="there is no none")
    fails("logical", [HOOK, BOX], ("grasp", "hook"), ("grasp", "box"), message="the hand holds hook")
    fails("tool", [BenchThing("safe", 20, mass=6)], ("grasp", "safe"), message="too heavy")
    fails("logical", [HOOK], ("release",), message="the hand is empty")


def test_pull():
    for tool in (
        BenchThing("t", 30, 40),
        BenchThing("t", 30, 40, hook=True, rigid=False),
        BenchThing("t", 30, 29, hook=True),
    ):
        fails("tool", [MILK, tool], ("grasp", "t"), ("pull", "milk", 50))
    for distance in (29.9, 80.1, -5, 0):
        fails("numerical", [MILK, HOOK], ("grasp", "hook"), ("pull", "milk", distance))
    for distance in (30, 80):
        bench(MILK, HOOK, steps=[("grasp", "hook"), ("pull", "milk", distance)])
    fails("logical", [MILK, HOOK], ("pull", "milk", 50))


def test_attach():
    one, two, far = (BenchThing(name, at, magnetic=True) for name, at in (("one", 20), ("two", 30), ("far", 70)))
    made = bench(one, two, steps=[("grasp", "one"), ("attach", "two")])
    assert made.things == {"one": BenchThing("one", 20, 20, magnetic=True)}
    fails("tool", [one, HOOK], ("grasp", "one"), ("attach", "hook"), message="does not stick")
    fails("tool", [one, HOOK], ("grasp", "hook"), ("attach", "one"))
    fails("logical", [one, far], ("grasp", "one"), ("attach", "far"))
    fails("logical", [one], ("grasp", "one"), ("attach", "one"))


def test_press():
    for distance in (83, 85, 87):
        assert "press" in bench(BUTTON, HOOK, steps=[("grasp", "hook"), ("press", distance)]).done
    for distance in (82.9, 87.1):
        fails("numerical", [BUTTON, HOOK], ("grasp", "hook"), ("press", distance))
    fails("logical", [BUTTON], ("press", 85))
    for tool in (BenchThing("t", 30, 24), BenchThing("t", 30, 60, rigid=False)):
        fails("tool", [BUTTON, tool], ("grasp", "t"), ("press", 85))
    assert "press" in bench(BenchThing("button", 50), steps=[("press", 50)]).done


def test_cross():
    def steps(at, name="board"):
        return ("grasp", name), ("place", at), ("cross",)

    for at in (65, 70, 75):
        assert "cross" in bench(GAP, BOARD, steps=steps(at)).done
    for at in (64.9, 75.1):
        fails("numerical", [GAP, BOARD], *steps(at))
    for tool in (BenchThing("t", 20, 60, strength=29), BenchThing("t", 20, 49, strength=60)):
        fails("tool", [GAP, tool], *steps(70, "t"))
    fails("logical", [GAP, BOARD], ("cross",))


def test_climb():
    def steps(near=100, far=80, names=("box", "stool")):
        return ("grasp", names[0]), ("place", near), ("grasp", names[1]), ("place", far), ("climb",)

    assert "climb" in bench(SOFA, BOX, STOOL, steps=steps()).done
    fails("numerical", [SOFA, BOX, STOOL], *steps(far=77))
    fails("numerical", [SOFA, BOX, STOOL], *steps(near=97, far=77))
    fails("numerical", [SOFA, BOX, STOOL], *steps(near=120, far=120))
    fails("tool", [SOFA, BOX, STOOL], *steps(names=("stool", "box")), message="too high")
    fails("tool", [SOFA, BOX, BenchThing("soft", 30, 20, height=20, rigid=False)], *steps(names=("box", "soft")))
    fails("logical", [SOFA, BOX, STOOL], *steps(near=80, far=100)[:-1], message="box blocks the way")
    fails("logical", [SOFA], ("climb",))


def test_push():
    """The robot presses with 20 kg on the long arm; the crate has 50 kg on the short one."""

    def steps(support=100, lever=40, names=("block", "beam")):
        return ("grasp", names[0]), ("place", support), ("grasp", names[1]), ("place", lever), ("push",)

    assert "push" in bench(CRATE, BLOCK, BEAM, steps=steps()).done
    assert 20 * (98 - 40) >= 50 * (120 - 98) and 20 * (97 - 40) < 50 * (120 - 97)
    assert "push" in bench(CRATE, BLOCK, BEAM, steps=steps(support=98)).done
    fails("numerical", [CRATE, BLOCK, BEAM], *steps(support=97), message="arm")
    fails("numerical", [CRATE, BLOCK, BEAM], *steps(lever=37))
    fails("numerical", [CRATE, BLOCK, BEAM], *steps(support=300), message="block is not below beam")
    fails("tool", [CRATE, BLOCK, BenchThing("beam", 30, 80, strength=4)], *steps())
    fails("tool", [CRATE, BenchThing("block", 30, strength=4), BEAM], *steps())
    fails("logical", [CRATE, BLOCK, BEAM], *steps()[:2], ("push",), message="1 things are placed")
    swapped = ("grasp", "beam"), ("place", 90), ("grasp", "block"), ("place", 80), ("push",)
    fails("logical", [CRATE, BLOCK, BEAM], *swapped, message="below its support")


def test_two_things_with_one_name_are_rejected():
    with pytest.raises(InputError, match="two things have one name"):
        Workbench([MILK, MILK])
