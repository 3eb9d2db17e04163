"""The harness in a process and folder of its own; `test_code_runner` runs programs in the sandbox."""

import base64
import io
import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")

from handaxe.papers.mle_dojo.code_runner import HARNESS
from handaxe.tools.sandbox.forking_runner import CHILD

PROGRAM = """
import json, os, sys
names = {"__name__": "harness"}
for path in sys.argv[1:]:
    exec(compile(open(path).read(), path, "exec"), names)
for request in json.loads(sys.stdin.read()):
    print(names["answer_program"](json.dumps(request), names["fork_child"]), flush=True)
print(json.dumps(sorted(os.listdir("."))))
"""


def packed(table):
    buffer = io.BytesIO()
    np.save(buffer, np.array(table))
    return base64.b64encode(buffer.getvalue()).decode()


@pytest.mark.slow
def test_programs_share_tables_and_nothing_else(tmp_path):
    tables = [packed([[0.0], [1.0]]), packed([0, 1]), packed([[1.0], [0.0]])]
    request = {"key": "a", "seconds": 5, "tables": None}
    programs = ["submit(test_X[:, 0]); train_y[0] = 9; global_name = 1", "submit([train_y[0]])", "global_name"]
    requests = [{**request, "code": "submit([1])"}, {**request, "code": "pass", "tables": tables}]
    requests += [{**request, "code": code} for code in programs]
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(CHILD), str(HARNESS)],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    missing, nothing, first, second, third, left = map(json.loads, filter(None, found.stdout.split("\n")))
    assert missing == {"missing": True} and nothing == {"error": "", "predictions": None}
    assert first == {"error": "", "predictions": [1.0, 0.0]}
    assert second == {"error": "", "predictions": [0.0]}  # the change of the first program stayed in its process
    assert third["error"].startswith("NameError") and left == []
