import re
import signal
import subprocess
import sys
import urllib.request

from helpers import processes

from handaxe.cli import main


def test_view_prints_its_address_and_ends_by_ctrl_c(finished):
    command = [sys.executable, "-m", "handaxe", "view", str(finished.parent), "--port", "0"]
    with processes.start(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            address = re.search(r"http://localhost:\d+/", running.stderr.readline())[0]
            with urllib.request.urlopen(f"{address}api/runs", timeout=60) as reply:
                assert b'"name":"first"' in reply.read()
            running.send_signal(signal.SIGINT)
            assert running.wait(timeout=20) == 0 and "stopped" in running.stderr.read()
        finally:
            running.kill()


def test_missing_folder_is_an_error(tmp_path, capsys):
    assert main(["view", str(tmp_path / "none")]) == 2
    assert "there is no folder" in capsys.readouterr().err
