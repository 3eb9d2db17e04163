from xml.etree import ElementTree

from handaxe.core.html_table import html_table

HOSTILE = "<script>alert(1)</script><img src=x onerror='go()'>&amp;\x1b[31m\u202etxt"


def test_html_table_shows_head_rows_and_caption():
    root = ElementTree.fromstring(html_table(["metric", "value"], [["reward", 0.12345], ["tasks", 200]], caption="all"))
    assert root.findtext("caption") == "all"
    assert [cell.text for cell in root.iter("th")] == ["metric", "value"]
    assert [cell.text for cell in root.iter("td")] == ["reward", "0.1235", "tasks", "200"]


def test_hostile_text_is_shown_and_never_markup():
    root = ElementTree.fromstring(html_table([HOSTILE], [[HOSTILE]], caption=HOSTILE))
    assert {one.tag for one in root.iter()} == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    shown = HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert [root.findtext("caption"), root.findtext(".//th"), root.findtext(".//td")] == [shown] * 3


def test_formulas_stay_text():
    assert "mathjax_ignore" in html_table(["$x$"], []) and "tex2jax_ignore" in html_table(["$x$"], [])


def test_missing_numbers_are_empty_cells():
    root = ElementTree.fromstring(html_table(["a", "b"], [[float("nan"), float("-inf")]]))
    assert [cell.text for cell in root.iter("td")] == [None, "-inf"]
