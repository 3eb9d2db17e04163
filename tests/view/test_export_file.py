import json
import zipfile

import pytest

from handaxe.core.errors import InputError
from handaxe.view import export_file as module
from handaxe.view.export_file import export_file
from handaxe.view.record_search import Where
from handaxe.view.runs import Runs

STEP_1 = Where(step=(1, 1))


@pytest.fixture
def run(viewed, decoder):
    return Runs(viewed, decoder)["seed-0"]


def test_export_writes_json_lines(run, tmp_path):
    file = export_file(run, STEP_1, "jsonl", tmp_path)
    assert file.parent == tmp_path and file.name == "seed-0.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == 3 and {line["step"] for line in lines} == {1}


def test_export_writes_a_zipped_data_set(run, tmp_path):
    pytest.importorskip("datasets")
    file = export_file(run, STEP_1, "datasets", tmp_path)
    assert any(name.endswith(".parquet") for name in zipfile.ZipFile(file).namelist())


def test_export_writes_an_inspect_log(run, tmp_path):
    inspect_log = pytest.importorskip("inspect_ai.log")
    file = export_file(run, STEP_1, "inspect", tmp_path)
    assert len(inspect_log.read_eval_log(str(file)).samples) == 3


def test_wrong_exports_raise(run, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="there is no export 'xml'; there are jsonl, datasets, inspect"):
        export_file(run, STEP_1, "xml", tmp_path)
    with pytest.raises(InputError, match="found no rollout"):
        export_file(run, Where(step=(99, None)), "jsonl", tmp_path)
    monkeypatch.setattr(module, "MOST", 2)
    with pytest.raises(InputError, match="3 rollouts are more than 2"):
        export_file(run, STEP_1, "jsonl", tmp_path)
    assert not list(tmp_path.iterdir())
