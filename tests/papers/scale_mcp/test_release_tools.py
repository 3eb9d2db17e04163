import json

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.scale_mcp.release_tools import ServedTools, rename_entry
from handaxe.worlds.toolbox.catalogue import ToolEntry


def entry(name):
    document = {"name": name, "description": f"Does {name}.", "parameters": {"type": "object", "properties": {}}}
    return ToolEntry(name, name, document, "", "", json.dumps(document))


def served(tmp_path, **options):
    settings = {"needed": ["t0", "t1"], "share": 0.5, "seed": 3}
    tools = [entry(f"t{k}") for k in range(10)]
    return ServedTools(tmp_path / "tools.json", tools, [entry("r0"), entry("r1")], **{**settings, **options})


def test_renamed_tools_keep_function_and_parameters():
    found = rename_entry(entry("x"), "y", note="Release 2.")
    shown = json.loads(found.shown)
    assert (found.name, found.function, shown["name"]) == ("y", "x", "y")
    assert shown["description"] == found.document["description"] == "Does x. Release 2."
    assert shown["parameters"] == entry("x").document["parameters"]


def test_releases_change_a_share_and_keep_needed_functions(tmp_path):
    made = served(tmp_path)
    for release in range(2, 12):
        before = {name: one.shown for name, one in made.entries.items()}
        made.change()
        after = {name: one.shown for name, one in made.entries.items()}
        file = {one["name"]: one for one in json.loads((tmp_path / "tools.json").read_text())}
        assert file.keys() == after.keys() and len(after) == 10 and made.release == release
        assert {"t0", "t1"} <= {one.function for one in made.entries.values()}
        assert {one["function"] for one in file.values()} == {one.function for one in made.entries.values()}
        renamed = [name for name in after if name.endswith(f"_r{release}")]
        assert len(renamed) == 2 and not set(renamed) & before.keys()
        assert sum(before[name] != after[name] for name in before.keys() & after.keys()) == 2


def test_releases_depend_on_the_seed_alone(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two, other = served(tmp_path / "a"), served(tmp_path / "b"), served(tmp_path, seed=4)
    for _ in range(3):
        for each in (one, two, other):
            each.change()
    assert one.entries == two.entries != other.entries


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_share_out_of_range_raises(tmp_path, share):
    with pytest.raises(InputError, match="share"):
        served(tmp_path, share=share)
