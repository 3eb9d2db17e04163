"""Program of the sandbox: imports scikit-learn once, and runs each program in a forked process.

It needs scikit-learn and the standard library. `code_runner` sends the text of this file to a sandboxed session and
calls `answer_program`. The parent never runs a program. A child cannot write a file, and the folder is emptied after
each run, so that a program finds nothing of an earlier one.

Kept: `code_runner` reads the file as text.
"""

import base64
import io
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import warnings

import numpy
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["answer_program"]

TOOLS = (
    PCA, RandomForestClassifier, RandomForestRegressor, SimpleImputer, Nystroem, LogisticRegression, Ridge,
    KNeighborsClassifier, KNeighborsRegressor, MinMaxScaler, StandardScaler, SVC, SVR, DecisionTreeClassifier,
    DecisionTreeRegressor, make_pipeline,
)  # fmt: skip
LONGEST = 2**20
"""Bytes of a child's result."""
WALL_SECONDS = 60
MOST_PREDICTIONS = 100_000
MOST_TEXT = 200
TABLES: dict = {}
"""Key of a competition -> training X and y, and X of the test rows."""
sys.dont_write_bytecode = True


def answer_program(text):
    """Answer a request, JSON in and out; {"missing": true} asks for the tables of the competition.

    Deletes the files of the current folder after a program: for a sandbox alone.

    Example:
        {"code": "submit([2.5])", "key": "a", "seconds": 2, "tables": [...]}  ->  {"error": "", "predictions": [2.5]}

    Idea: as `code_runner.CodeRunner`.
    """
    request = json.loads(text)
    if request["tables"]:
        TABLES[request["key"]] = [numpy.load(io.BytesIO(base64.b64decode(one))) for one in request["tables"]]
    if request["key"] not in TABLES:
        return json.dumps({"missing": True})
    return _fork(request)


def _fork(request):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _be_child(request, write)
        finally:
            os._exit(1)
    os.close(write)
    data, late = b"", False
    while len(data) < LONGEST and not late:
        late = not select.select([read], [], [], WALL_SECONDS)[0]
        piece = b"" if late else os.read(read, 2**16)
        if not piece:
            break
        data += piece
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    os.close(read)
    _empty_folder()
    if data.endswith(b"\n"):
        return data.decode(errors="replace")
    slow = late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF)
    error = "Timeout: the program took too long" if slow else "Crash: the process ended without a result"
    return json.dumps({"error": error, "predictions": None})


def _empty_folder():
    for name in os.listdir("."):
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name, ignore_errors=True)
        else:
            os.unlink(name)


def _be_child(request, write):
    """Run the program, write the result, and exit."""
    os.dup2(write, 3)
    os.closerange(4, 256)
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    random.seed(0)
    numpy.random.seed(0)
    warnings.simplefilter("ignore")
    handed: list = []
    error = ""
    try:
        exec(compile(request["code"], "program", "exec"), _names(request["key"], handed))
    except BaseException as failure:
        error = f"{type(failure).__name__}: {failure}"[:MOST_TEXT]
    result = {"error": error, "predictions": None if error or not handed else _listed(handed[-1])}
    os.write(3, (json.dumps(result) + "\n").encode())
    os._exit(0)


def _names(key, handed):
    """Names of a program: the tables, the classes of scikit-learn, `submit` and `enter`."""
    train_X, train_y, test_X = TABLES[key]

    def enter(*steps):
        handed.append(make_pipeline(*steps).fit(train_X, train_y).predict(test_X))

    tables = {"train_X": train_X, "train_y": train_y, "test_X": test_X, "numpy": numpy}
    return {**{one.__name__: one for one in TOOLS}, **tables, "submit": handed.append, "enter": enter}


def _listed(predictions):
    """Predictions as a list of numbers; None for anything else."""
    try:
        numbers = numpy.asarray(predictions, dtype=numpy.float64)
    except (TypeError, ValueError):
        return None
    return numbers.tolist() if numbers.ndim == 1 and numbers.size <= MOST_PREDICTIONS else None
