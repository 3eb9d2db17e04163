from functools import partial

from handaxe.core.isolated_copy import isolated_copy


def counter(step=1):
    count, seen = 0, []

    def ask(value, log=[]):
        nonlocal count
        count += step
        seen.append(value)
        log.append(value)
        return count, list(seen), list(log)

    def back():
        return count

    ask.back = back
    return ask


class Holds:
    def __init__(self, part):
        self.part = part

    def ask(self, value):
        return self.part(value)


def test_closures_and_defaults_are_copied():
    first = counter()
    first("a")
    other = isolated_copy(first)
    assert other("b") == (2, ["a", "b"], ["a", "b"])
    assert first("c") == (2, ["a", "c"], ["a", "c"])
    assert other.back() == 2, "functions that shared a variable share it in the copy"
    other("d")
    assert (first.back(), other.back()) == (2, 3)


def test_functions_inside_containers_are_copied():
    for wrap, ask in ((Holds, Holds.ask), (lambda part: Holds(part).ask, lambda part, value: part(value))):
        first = wrap(counter())
        other = isolated_copy(first)
        assert ask(first, "a")[0] == ask(other, "b")[0] == 1
    first = partial(counter(), "a")
    other = isolated_copy([first, {"x": (first,)}])
    assert first()[0] == 1 and other[0]()[0] == 1 and other[1]["x"][0]()[0] == 2


def test_shared_types_are_not_copied():
    class Large:
        pass

    held = [Large(), {}]
    ask = partial(counter, held)
    other = isolated_copy(ask, share=(Large,))
    assert other.args[0][0] is held[0] and other.args[0][1] is not held[1]
    assert isolated_copy(ask).args[0][0] is not held[0]
