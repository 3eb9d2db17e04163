import contextlib
import json
import os
import shutil
import socket

import pytest
from helpers.viewer import get, viewer

from handaxe.core.errors import InputError

pytest.importorskip("starlette")
pytest.importorskip("httpx")
from starlette.testclient import TestClient

from handaxe.view import web
from handaxe.view.assets import LIBRARIES, MODULES
from handaxe.view.web import serve_view, view_app


@pytest.fixture
def client(viewed, decoder):
    with TestClient(view_app(viewed, decoder), base_url="http://localhost") as client:
        yield client


def test_page_and_files_are_served_without_foreign_addresses(client):
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert page.status_code == 200 and "default-src 'none'" in policy and "script-src 'self';" in policy
    for name in (*MODULES, "style.css", "tables_library.js"):
        text = client.get(f"/pages/{name}").text
        assert text and "http://" not in text and "https://" not in text
    for name in LIBRARIES:
        assert len(client.get(f"/lib/{name}").text) > 50_000


@pytest.mark.parametrize("path", ["/pages/..%2Fweb.py", "/pages/web.py", "/lib/setup.py", "/pages/%2Fetc%2Fpasswd"])
def test_other_files_are_not_served(client, path):
    assert client.get(path).status_code == 404


def test_paths_are_not_redirected(client):
    assert client.get("/lib/plotly.min.js/", follow_redirects=False).status_code == 404


def test_foreign_hosts_and_origins_are_refused(client):
    assert client.get("/api/runs", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/api/runs", headers={"origin": "https://evil.example"}).status_code == 403
    assert client.get("/api/runs", headers={"origin": "http://localhost:8080"}).status_code == 200
    assert client.post("/api/runs").status_code == 405


def test_answers_and_errors_are_json(client):
    found = client.get("/api/runs")
    assert [run["name"] for run in found.json()["runs"]] == ["seed-0", "seed-1"]
    assert found.headers["x-content-type-options"] == "nosniff" and found.text.isascii()
    error = client.get("/api/step?run=seed-0&step=9")
    assert error.status_code == 404 and "steps 1 to 3" in error.json()["error"]


def test_lone_surrogates_reach_the_page(client):
    row = client.get("/api/rows?run=seed-0&text=constructor").json()["rows"][0][0]
    found = client.get(f"/api/rollout?run=seed-0&id={row}")
    assert "\ud800" in json.loads(found.text)["notes"].values()


def test_found_rollouts_are_exported_to_json_lines(client):
    found = client.get("/export/jsonl?run=seed-0&first=1&last=1")
    assert found.status_code == 200 and 'filename="seed-0.jsonl"' in found.headers["content-disposition"]
    assert len(found.text.splitlines()) == 3 and all(json.loads(line)["step"] == 1 for line in found.text.splitlines())


@pytest.mark.parametrize(
    "path, message", [("xml?run=seed-0", "no export"), ("jsonl?run=seed-0&tool=none", "found no rollout")]
)
def test_wrong_export_is_an_error(client, path, message):
    found = client.get(f"/export/{path}")
    assert found.status_code == 404 and message in found.json()["error"]


def test_failed_export_leaves_no_file(client, tmp_path, monkeypatch, capsys):
    def fails(*arguments):
        raise MemoryError("\x1b[31mred")

    monkeypatch.setattr(web, "export_file", fails)
    monkeypatch.setattr(web.tempfile, "tempdir", str(tmp_path))
    found = client.get("/export/jsonl?run=seed-0")
    assert found.status_code == 500 and "MemoryError" in found.json()["error"] and not list(tmp_path.iterdir())
    assert "a query failed" in (error := capsys.readouterr().err) and "\x1b" not in error


def test_missing_folder_and_wrong_port_raise(tmp_path, decoder):
    with pytest.raises(InputError, match="no folder"):
        view_app(tmp_path / "none", decoder)
    with pytest.raises(InputError, match="not valid"):
        serve_view(tmp_path, decoder, port=70000, show=print)


def test_half_requests_shut_nobody_out(viewed):
    with viewer(viewed, files=128) as port, contextlib.ExitStack() as stack:
        for _ in range(300):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            half.sendall(b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\n")
        assert get(port, "/api/runs")[0] == 200


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_pipe_or_device_in_the_folder_stops_no_page(viewed, tmp_path, make):
    folder = shutil.copytree(viewed, tmp_path / "folder")
    for place in ("results/x.json", "seed-1/record.sqlite-journal", "seed-1/recipe.json"):
        (folder / place).unlink(missing_ok=True)
        make(folder / place)
    with viewer(folder) as port:
        results = json.loads(get(port, "/api/results")[1])
        assert [one["kind"] for one in results] == ["replication", "comparison", "damaged"]
        found = json.loads(get(port, "/api/runs")[1])
        assert [run["name"] for run in found["runs"]] == ["seed-0"]
        assert [one["name"] for one in found["damaged"]] == ["seed-1"]
        assert get(port, "/api/run?run=seed-1")[0] == 404 and get(port, "/api/run?run=seed-0")[0] == 200
