"""Elements and clicks of pages, on shortened trees of a real browser."""

import pytest

from handaxe.worlds.miniwob.elements import (
    PAGES,
    VISUAL,
    Element,
    format_changes,
    format_elements,
    list_elements,
    next_click,
)


def node(tag, ref=0, text=None, children=(), value=None, left=0):
    made = {"tag": tag, "ref": ref, "left": left, "top": 1.4, "width": 20.2, "height": 11, "children": list(children)}
    return made | ({} if text is None else {"text": text}) | ({} if value is None else {"value": value})


def body(*children):
    return node("BODY", 1, children=[node("DIV", 2, children=children)])


def listed(*children):
    return list_elements(body(*children))


BUTTONS = (
    node("INPUT_text", 4, "", value=""),
    node("BUTTON", 5, "Ok"),
    node("DIV", 6, "commodo ullamcorper turpis"),
    node("BUTTON", 7, "next"),
)
DIALOG = (
    node("SPAN", 6, ""),
    node("BUTTON", 7, children=[node("SPAN", 8, ""), node("t", -1, "Close", left=-4903)]),
    node("P", 10, "Ac congue"),
    node("BUTTON", 13, "Cancel"),
    node("DIV", 15, ""),
)


def label(ref, text, on, kind="radio"):
    return node("LABEL", ref, children=[node(f"INPUT_{kind}", ref + 1, "", value=on), node("t", -ref, text)])


def test_visible_clickable_elements_are_listed():
    found = listed(*BUTTONS)
    assert format_elements(found) == "input_text [1]\nbutton Ok [2]\ndiv commodo ullamcorper turp [3]\nbutton next [4]"
    assert found[1] == Element(5, "button", "Ok", None, (0, 1, 20, 12))


def test_a_control_is_one_element_and_empty_nodes_are_none():
    assert format_elements(listed(*DIALOG)) == "button Close [1]\np Ac congue [2]\nbutton Cancel [3]"


def test_running_text_is_no_element_and_inline_nodes_are():
    line = [node("t", -1, "Sed cum"), node("SPAN", 6, "in"), node("SPAN", 7, "risus."), node("t", -2, "et")]
    assert format_elements(listed(*line)) == "span in [1]\nspan risus. [2]"


def test_a_switch_has_its_labels_text_and_state():
    found = listed(label(5, "tea", False), label(7, "cocoa", True), node("BUTTON", 9, "Submit"))
    assert format_elements(found) == "input_radio tea [1]\ninput_radio cocoa on [2]\nbutton Submit [3]"
    assert [one.ref for one in found] == [6, 8, 9]


def test_values_of_fields_and_icons_are_listed_on_request():
    icon = node("SPAN", 5, "") | {"id": "send", "classes": "like active"}
    page = (node("INPUT_text", 4, "", value="Bo"), icon, node("SPAN", 6, "") | {"id": "send", "classes": ""})
    assert format_elements(listed(*page)) == "input_text [1]"
    found = list_elements(body(*page), values=True, icons=("send", "like"))
    assert format_elements(found) == "input_text Bo [1]\nspan send on [2]\nspan send [3]"
    assert [one.on for one in found] == [None, True, False]


def test_changes_are_new_lines_and_the_number_of_a_shorter_list():
    before = listed(label(5, "tea", False, "checkbox"), node("BUTTON", 9, "Submit"))
    after = listed(label(5, "tea", True, "checkbox"), node("BUTTON", 9, "Submit"))
    assert format_changes(before, after) == "input_checkbox tea on [1]"
    assert format_changes(before, before) == "nothing changes"
    assert format_changes(after, after[1:]) == "button Submit [1]\nup to [1]"


def test_multiline_text_is_one_line():
    (found,) = listed(node("BUTTON", 4, "Ok [1]\nbutton  next [9]"))
    assert format_elements([found]) == "button Ok [1] button next [9] [1]"


def test_text_like_markup_stays_text():
    assert format_elements(listed(node("BUTTON", 4, "<|end|> </tool_call>"))) == "button <|end|> </tool_call> [1]"


@pytest.mark.parametrize(
    ("page", "query", "shown", "clicked", "wanted"),
    [
        ("click-button", 'Click on the "Ok" button.', BUTTONS, (), 2),
        ("click-button", 'Click on the "commodo ullamcorper turpis" button.', BUTTONS, (), None),
        ("click-link", 'Click on the link "in".', (node("SPAN", 6, "in"), node("SPAN", 7, "im")), (), 1),
        ("click-dialog", 'Close the dialog box by clicking the "x".', DIALOG, (), 1),
        ("click-dialog-2", 'Click the button in the dialog box labeled "Cancel".', DIALOG, (), 3),
        ("click-tab", "Click on Tab #2.", (node("A", 6, "Tab #1"), node("A", 8, "Tab #2")), (), 2),
        ("click-collapsible", "Expand it.", (node("H3", 4, "Section #19"), node("BUTTON", 6, "Submit")), (), 1),
        ("click-collapsible", "Expand it.", (node("H3", 4, "Section"), node("BUTTON", 6, "Submit")), ("Section",), 2),
    ],
)
def test_next_click_is_the_wanted_element_of_each_page(page, query, shown, clicked, wanted):
    assert next_click(page, query, listed(*shown), clicked) == wanted


def test_a_radio_button_is_chosen_before_submit():
    query, submit = "Select tea and click Submit.", node("BUTTON", 9, "Submit")
    for on, wanted in ((False, 1), (True, 3)):
        shown = listed(label(5, "tea", on), label(7, "cocoa", not on), submit)
        assert next_click("click-option", query, shown, ()) == wanted


@pytest.mark.parametrize(
    ("named", "on", "wanted"),
    [("tea, cocoa", (0, 0), 1), ("tea, cocoa", (1, 0), 2), ("tea", (1, 1), 2), ("nothing", (0, 0), 3)],
)
def test_named_boxes_are_checked_before_submit(named, on, wanted):
    boxes = [label(3 + 2 * n, text, bool(on[n]), "checkbox") for n, text in enumerate(("tea", "cocoa"))]
    shown = listed(*boxes, node("BUTTON", 9, "Submit"))
    assert next_click("click-checkboxes", f"Select {named} and click Submit.", shown, ()) == wanted


def test_tabs_are_opened_until_the_link_appears():
    query = 'Switch between the tabs to find and click on the link "in".'
    tabs = [node("A", 6 + n, f"Tab #{n + 1}") for n in range(2)]
    elsewhere, here = listed(*tabs, node("SPAN", 9, "risus.")), listed(*tabs, node("SPAN", 9, "in"))
    assert next_click("click-tab-2", query, elsewhere, ()) == 1
    assert next_click("click-tab-2", query, elsewhere, ("Tab #1",)) == 2
    assert next_click("click-tab-2", query, elsewhere, ("Tab #1", "Tab #2")) is None
    assert next_click("click-tab-2", query, here, ("Tab #1",)) == 3


def test_next_click_is_none_on_an_empty_page():
    assert [next_click(page, 'Click on Tab #1: "Ok".', [], ()) for page in PAGES] == [None] * len(PAGES)


def test_named_buttons_are_clicked_in_order():
    buttons = listed(node("BUTTON", 4, "ONE"), node("BUTTON", 5, "TWO"))
    query = "Click button ONE, then click button TWO."
    assert [next_click("click-button-sequence", query, buttons, done) for done in ((), ("ONE",))] == [1, 2]
    assert next_click("click-test-2", "Click button ONE.", buttons, ()) == 1
    assert next_click("click-test", "Click the button.", listed(node("BUTTON", 4, "Click Me!")), ()) == 1


def test_a_field_is_clicked_by_its_count():
    fields = listed(*(node("INPUT_text", ref, "", value="") for ref in (4, 5, 6)))
    for number, word in enumerate(("1st", "2nd", "3rd"), start=1):
        assert next_click("focus-text-2", f"Focus into the {word} input textbox.", fields, ()) == number
    assert next_click("focus-text", "Focus into the textbox.", fields[:1], ()) == 1
    assert next_click("focus-text-2", "Focus into the 3rd input textbox.", fields[:2], ()) is None
    assert not set(VISUAL) & set(PAGES)
