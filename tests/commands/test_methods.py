import json
import subprocess
import sys

from handaxe.cli import main
from handaxe.methods.catalog import list_methods


def test_methods_lists_every_method(tmp_path, capsys):
    file = tmp_path / "methods.json"
    assert main(["methods", "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    names = [one.name for one in list_methods()]
    assert names and all(name in shown for name in names)
    body = json.loads(file.read_text())["methods"]
    assert [one["name"] for one in body] == names
    otc = next(one for one in body if one["name"] == "otc")
    assert otc["paper"]["arxiv"] == "2504.14870" and otc["claims"][0]["keeps"] == "pass@1"
    assert (otc["base"], otc["world"]) == ("grpo_no_kl", "arithmetic")


def test_listing_loads_nothing_heavy():
    code = "import sys; from handaxe.cli import main; main(['methods']); print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.rstrip().endswith("False")
