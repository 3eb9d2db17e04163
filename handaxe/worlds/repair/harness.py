"""Program of the sandbox of `repair`: imports a package and the tests once, and forks for each run.

It needs only the standard library. `runner` sends the text of this file to a sandboxed session and calls
`answer_request`. The parent never runs edited code: a child receives the edited functions and runs the tests.

Kept: `runner` reads the file as text.
"""

import __future__

import gc
import importlib
import inspect
import json
import random
import sys
import time
import traceback
import types

__all__ = ["answer_request"]

LONGEST = 2**18
"""Bytes of a child's result."""
CPU_SECONDS = 0.5
"""Processor time of a run; the kernel ends a child beyond it."""
WALL_SECONDS = 20
"""Seconds without a result after which the machine is at fault."""
NOWHERE = {"line": 0, "at": 0, "code": ""}
KNOWN: dict = {}
"""Test module -> {test name: (class or None, function, keyword arguments)}."""
LIVE: dict = {}
"""File -> {qualified name: functions with this code}."""
sys.dont_write_bytecode = True


def answer_request(text, fork_child):
    """Answer a request, JSON in and out: "collect" lists tests, "run" runs tests with edited functions.

    Raises TimeoutError if a run hangs without using the processor.
    """
    request = json.loads(text)
    tests = _collect(request["tests"])
    if request["op"] == "collect":
        return json.dumps(sorted(tests, key=list(tests).index))
    live = _live(request["module"])
    line, end = fork_child(
        lambda: _run_tests(request, tests, live), seconds=CPU_SECONDS, wall=WALL_SECONDS, longest=LONGEST
    )
    if end == "late":
        raise TimeoutError(f"the tests did not end in {WALL_SECONDS} seconds")
    if not end:
        return line
    failure = {"failed": request["names"], "error": end.capitalize(), **NOWHERE}
    return json.dumps({**failure, "calls": [], "seconds": []})


def _run_tests(request, tests, live):
    """Run the tests of a request; return the result as JSON."""
    random.seed(0)
    module = sys.modules[request["module"]]
    for source, first, names in request["edits"]:
        _swap(module, live, source, first, names)
    calls: list = []
    failed: list = []
    seconds: list = []
    first = None
    ready: dict = {}
    for name in request["names"]:
        begun = time.process_time()
        if request["trace"]:
            calls.append([])
            sys.setprofile(_tracer(module.__file__, calls[-1]))
        problem = _run(tests[name], ready)
        sys.setprofile(None)
        seconds.append(time.process_time() - begun)
        if problem is not None:
            failed.append(name)
            first = first or _explain(problem, module.__file__, tests[name][1].__code__)
            if request["stop"]:
                break
    result = {"failed": failed, **(first or {"error": "", **NOWHERE}), "calls": calls, "seconds": seconds}
    return json.dumps(result)


def _swap(module, live, source, first, names):
    """Give the functions of a changed statement new code, for all references."""
    known = module.__dict__.get("annotations")
    flags = known.compiler_flag if isinstance(known, __future__._Feature) else 0
    code = compile("\n" * (first - 1) + source, module.__file__, "exec", flags, dont_inherit=True)
    found: dict = {}
    waiting = [code]
    while waiting:
        for one in waiting.pop().co_consts:
            if isinstance(one, types.CodeType):
                found.setdefault(one.co_qualname, one)
                waiting.append(one)
    for name in names:
        for function in live.get(name, ()):
            function.__code__ = found[name]


def _live(name):
    if name not in LIVE:
        file = importlib.import_module(name).__file__
        gc.unfreeze()
        by_name: dict = {}
        for one in gc.get_objects():
            if type(one) is types.FunctionType and one.__code__.co_filename == file:
                by_name.setdefault(one.__code__.co_qualname, []).append(one)
        LIVE[name] = by_name
        gc.collect()
        gc.freeze()  # a collection in a child would copy every page
    return LIVE[name]


def _collect(name):
    """Tests of a module without fixtures, by name, in the order of the file."""
    if name not in KNOWN:
        module, found = importlib.import_module(name), {}
        for key, value in vars(module).items():
            if key.startswith("test") and isinstance(value, types.FunctionType):
                found.update(_variants(None, value, key))
            elif isinstance(value, type) and key.startswith("Test") and value.__module__ == name:
                for inner in dir(value):
                    function = inspect.getattr_static(value, inner)
                    if inner.startswith("test") and isinstance(function, types.FunctionType):
                        found.update(_variants(value, function, f"{key}.{inner}"))
        KNOWN[name] = found
    return KNOWN[name]


def _variants(owner, function, name):
    """A test with the values of each `parametrize`; none for a skipped test, or with other parameters."""
    cases: list = [{}]
    marks = list(getattr(function, "pytestmark", ())) + list(getattr(owner, "pytestmark", ()))
    for mark in marks:
        if mark.name != "parametrize":
            return {}
        keys = mark.args[0]
        keys = [key.strip() for key in keys.split(",")] if isinstance(keys, str) else list(keys)
        values = [getattr(one, "values", one if len(keys) > 1 else (one,)) for one in mark.args[1]]
        cases = [{**case, **dict(zip(keys, one))} for case in cases for one in values]
    wanted = [one.name for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    if len(cases) > 200 or any(set(wanted) - ({"self"} if owner else set()) != set(case) for case in cases):
        return {}
    if len(cases) == 1:
        return {name: (owner, function, cases[0])}
    return {f"{name}[{n}]": (owner, function, case) for n, case in enumerate(cases)}


def _run(test, ready):
    """Run a test; return the exception, None for success. A skipped test has failed: the original skips none."""
    owner, function, arguments = test
    try:
        if owner is None:
            function(**arguments)
            return None
        if owner not in ready:
            ready[owner] = True
            for name in ("setup_class", "setUpClass"):
                if hasattr(owner, name):
                    getattr(owner, name)()
        one = owner(function.__name__) if hasattr(owner, "assertEqual") else owner()
        for name in ("setup_method", "setUp"):
            if hasattr(one, name):
                method = getattr(one, name)
                method(*[function] * len(inspect.signature(method).parameters))
        function(one, **arguments)
        if hasattr(one, "doCleanups"):
            one.tearDown()
    except BaseException as error:
        return error
    return None


def _explain(error, file, test):
    """Type of the exception, line and text of the test, and last line of the edited file on the way."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == test.co_filename]
    inner = [frame.lineno for frame in frames if frame.filename == file]
    line, code = (own[-1].lineno, own[-1].line) if own else (0, "")
    return {"error": type(error).__name__, "line": line, "at": inner[-1] if inner else 0, "code": code}


def _tracer(file, calls):
    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename == file:
            line = frame.f_code.co_firstlineno
            if line not in calls and len(calls) < 100:
                calls.append(line)

    return note
