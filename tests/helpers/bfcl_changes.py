"""Answers of BFCL changed at random, so that two ways to judge them can be compared on what is nearly right."""

import copy

VALUES = [0, 1, 5, 5.0, "", True, None, "a", "Paris", [], [1], ["a"], {}, {"a": 1}, [{}]]


def changed(calls, rng):
    """The calls with no, one or two of: a call lost, doubled or elsewhere, an argument lost, added or altered."""
    calls = copy.deepcopy(list(calls))
    for _ in range(rng.choice([0, 1, 1, 2])):
        if calls:
            rng.choice([lost, doubled, shuffled, shorter, longer, replaced, altered, inside])(calls, rng)
    return calls


def lost(calls, rng):
    calls.pop(rng.randrange(len(calls)))


def doubled(calls, rng):
    calls.append(copy.deepcopy(rng.choice(calls)))


def shuffled(calls, rng):
    rng.shuffle(calls)


def shorter(calls, rng):
    arguments, name = chosen(calls, rng)
    arguments.pop(name, None)


def longer(calls, rng):
    rng.choice(calls)["arguments"]["extra"] = 1


def replaced(calls, rng):
    arguments, name = chosen(calls, rng)
    if name is not None:
        arguments[name] = copy.deepcopy(rng.choice(VALUES))


def altered(calls, rng):
    """Another way to write the value, or nearly."""
    arguments, name = chosen(calls, rng)
    value = arguments.get(name)
    if isinstance(value, str):
        arguments[name] = value.upper() + "."
    elif type(value) in (int, float):
        arguments[name] = float(value) if type(value) is int else int(value)
    elif isinstance(value, list):
        arguments[name] = value[::-1]


def inside(calls, rng):
    arguments, name = chosen(calls, rng)
    value = arguments.get(name)
    if isinstance(value, dict) and value:
        value[rng.choice(list(value))] = copy.deepcopy(rng.choice(VALUES))
    elif isinstance(value, list) and value:
        value[rng.randrange(len(value))] = copy.deepcopy(rng.choice(VALUES))


def chosen(calls, rng):
    arguments = rng.choice(calls)["arguments"]
    return arguments, rng.choice(list(arguments)) if arguments else None
