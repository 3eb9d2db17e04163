"""The program inside the sandbox, run here: namespace and displayed values. Other tests run it in the sandbox."""

import signal
import sys

import pytest

from handaxe.tools.sandbox.worker import Session


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    return Session(1000)


def test_values_and_names_are_kept(session):
    assert session.run("x = 40") == ("", False)
    assert session.run("x + 2") == ("42", False)
    assert session.run("None") == ("", False)
    assert session.run("") == ("", False)
    assert session.run("def f():\n    return x\nf(); 'a'") == ("'a'", False)


def test_tracebacks_show_only_lines_of_the_session(session):
    text, failed = session.run("def f():\n    return 1 / 0\nf()")
    assert failed and text.startswith("Traceback") and text.endswith("ZeroDivisionError: division by zero")
    assert '"<call 1>", line 2, in f' in text and "return 1 / 0" in text and "worker.py" not in text
    text, failed = session.run("def")
    assert failed and "SyntaxError" in text and "worker.py" not in text
    assert session.run("raise SystemExit(3)") == (
        'Traceback (most recent call last):\n  File "<call 3>", line 1, in <module>\n'
        "    raise SystemExit(3)\nSystemExit: 3",
        True,
    )


def test_failing_repr_is_reported(session):
    text, failed = session.run("class A:\n    def __repr__(self): raise ValueError('no')\nA()")
    assert failed and text.startswith("the value of the last expression cannot be shown") and "ValueError: no" in text
    assert session.run("10 ** 5000")[1]


def test_long_text_is_cut_in_the_middle(session):
    text, _ = session.run("'a' * 600 + 'b' * 600")
    assert text.startswith("'aaa") and text.endswith("bbb'") and len(text) == 1003


def test_classes_belong_to_main(session):
    session.run("import pickle\nclass P:\n    pass\np = P()")
    assert session.run("type(pickle.loads(pickle.dumps(p))) is P, P.__module__") == ("(True, '__main__')", False)


def test_only_code_of_the_session_is_interrupted(session):
    session.on_interrupt(signal.SIGINT, None)
    session.module.__dict__["stop"] = session.on_interrupt
    assert session.run("stop(2, None)")[0].endswith("KeyboardInterrupt")
