"""Keys of questions."""

from handaxe.asking.ask import Ask
from handaxe.asking.prompt import find_prompt

STEP = find_prompt("step", terse=True)


def ask(text, **changes):
    return Ask(STEP, {"task": "", "before": "", "did": text, "then": ""}, **changes)


def test_the_key_has_no_role_and_no_place():
    one = ask("good")
    assert one.key("m") == ask("good", role="user", about=("t", 3, "c")).key("m")
    assert len({one.key("m"), one.key("n"), ask("bad").key("m"), ask("good", sample=1).key("m")}) == 4
