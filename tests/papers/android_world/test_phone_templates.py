import pytest

from handaxe.papers.android_world.phone import APPS, Phone
from handaxe.papers.android_world.phone_templates import TEMPLATES, part_success

PART = {"action": "set", "app": "notes", "key": "512", "value": "5526", "rows": [["512", "1111"], ["513", "2222"]]}


@pytest.mark.parametrize(
    "action, rows, success",
    [
        ("set", [("513", "2222"), ("512", "5526")], 1),
        ("set", [("512", "5526")], 0),  # another row is gone
        ("set", [("512", "5526"), ("513", "2222"), ("9", "9")], 0),
        ("delete", [("513", "2222")], 1),
        ("delete", [], 0),
        ("add", [("512", "1111"), ("513", "2222"), ("512", "5526")], 1),
        ("add", [("512", "1111"), ("513", "2222")], 0),
    ],
)
def test_success_compares_all_rows(action, rows, success):
    phone = Phone()
    phone.fill("notes", rows)
    assert part_success(phone, {**PART, "action": action}) == success


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_starts_unsuccessful_and_counts_parts(name):
    template = TEMPLATES[name]
    for seed in range(12):
        params = template.generate_params(seed)
        phone = Phone()
        template.initialize(phone, params)
        assert template.is_successful(phone, params) == 0.0
        apps = [part["app"] for part in params["parts"]]
        assert len(set(apps)) == len(apps) and template.goal(params).count(";") == len(apps) - 1
        for done, part in enumerate(params["parts"], 1):
            kept = [tuple(row) for row in part["rows"] if part["action"] == "add" or row[0] != part["key"]]
            phone.fill(part["app"], kept if part["action"] == "delete" else [*kept, (part["key"], part["value"])])
            assert template.is_successful(phone, params) == pytest.approx(done / len(apps), abs=1e-12)
        template.tear_down(phone, params)
        assert not any(phone.rows(app) for app in APPS)
