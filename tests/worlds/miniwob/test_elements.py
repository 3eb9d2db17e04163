"""What is listed of a page and clicked on it, on trees as a browser gave them, shortened."""

import pytest

from handaxe.worlds.miniwob.elements import PAGES, Element, elements_of, next_click, told


def node(tag, ref=0, text=None, children=(), value=None, left=0):
    made = {"tag": tag, "ref": ref, "left": left, "top": 1.4, "width": 20.2, "height": 11, "children": list(children)}
    return made | ({} if text is None else {"text": text}) | ({} if value is None else {"value": value})


def body(*children):
    return node("BODY", 1, children=[node("DIV", 2, children=children)])


def listed(*children):
    return elements_of(body(*children))


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


def test_a_list_of_what_can_be_seen_and_clicked():
    found = listed(*BUTTONS)
    assert told(found) == "input_text [1]\nbutton Ok [2]\ndiv commodo ullamcorper turp [3]\nbutton next [4]"
    assert found[1] == Element(5, "button", "Ok", None, (0, 1, 20, 12))


def test_a_control_is_one_element_and_what_says_nothing_is_none():
    assert told(listed(*DIALOG)) == "button Close [1]\np Ac congue [2]\nbutton Cancel [3]"


def test_running_text_cannot_be_clicked_and_what_is_between_can():
    line = [node("t", -1, "Sed cum"), node("SPAN", 6, "in"), node("SPAN", 7, "risus."), node("t", -2, "et")]
    assert told(listed(*line)) == "span in [1]\nspan risus. [2]"


def test_a_switch_has_the_words_of_its_label_and_says_whether_it_is_on():
    found = listed(label(5, "tea", False), label(7, "cocoa", True), node("BUTTON", 9, "Submit"))
    assert told(found) == "input_radio tea [1]\ninput_radio cocoa on [2]\nbutton Submit [3]"
    assert [one.ref for one in found] == [6, 8, 9]


def test_a_text_of_several_lines_makes_no_line_of_its_own():
    (found,) = listed(node("BUTTON", 4, "Ok [1]\nbutton  next [9]"))
    assert told([found]) == "button Ok [1] button next [9] [1]"


def test_words_that_look_like_markup_stay_words():
    assert told(listed(node("BUTTON", 4, "<|end|> </tool_call>"))) == "button <|end|> </tool_call> [1]"


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
def test_what_is_to_be_clicked(page, query, shown, clicked, wanted):
    assert next_click(page, query, listed(*shown), clicked) == wanted


def test_a_radio_button_is_chosen_and_then_it_is_submitted():
    query, submit = "Select tea and click Submit.", node("BUTTON", 9, "Submit")
    for on, wanted in ((False, 1), (True, 3)):
        shown = listed(label(5, "tea", on), label(7, "cocoa", not on), submit)
        assert next_click("click-option", query, shown, ()) == wanted


@pytest.mark.parametrize(
    ("named", "on", "wanted"),
    [("tea, cocoa", (0, 0), 1), ("tea, cocoa", (1, 0), 2), ("tea", (1, 1), 2), ("nothing", (0, 0), 3)],
)
def test_boxes_are_checked_until_they_are_those_named(named, on, wanted):
    boxes = [label(3 + 2 * n, text, bool(on[n]), "checkbox") for n, text in enumerate(("tea", "cocoa"))]
    shown = listed(*boxes, node("BUTTON", 9, "Submit"))
    assert next_click("click-checkboxes", f"Select {named} and click Submit.", shown, ()) == wanted


def test_a_link_is_looked_for_in_one_tab_after_the_other():
    query = 'Switch between the tabs to find and click on the link "in".'
    tabs = [node("A", 6 + n, f"Tab #{n + 1}") for n in range(2)]
    elsewhere, here = listed(*tabs, node("SPAN", 9, "risus.")), listed(*tabs, node("SPAN", 9, "in"))
    assert next_click("click-tab-2", query, elsewhere, ()) == 1
    assert next_click("click-tab-2", query, elsewhere, ("Tab #1",)) == 2
    assert next_click("click-tab-2", query, elsewhere, ("Tab #1", "Tab #2")) is None
    assert next_click("click-tab-2", query, here, ("Tab #1",)) == 3


def test_every_page_has_an_expert_that_gives_up_on_an_empty_page():
    assert [next_click(page, 'Click on Tab #1: "Ok".', [], ()) for page in PAGES] == [None] * len(PAGES)
