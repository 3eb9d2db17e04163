"""Goals of pages of several turns, on lists of elements as a real browser shows them."""

import pytest

from handaxe.worlds.miniwob.elements import PAGES, Element
from handaxe.worlds.miniwob.goals import END, LONG, Move, is_met, next_move, page_goals


def shown(*lines):
    """Elements of lines "tag text" or "tag text|on" and "tag text|off"."""
    found = []
    for ref, line in enumerate(lines, start=40):
        body, _, switch = line.partition("|")
        tag, _, text = body.partition(" ")
        found.append(Element(ref, tag, text, {"on": True, "off": False}.get(switch), (0, 0, 9, 9)))
    return found


LOGIN = 'Enter the username "ann" and the password "x1" into the text fields and press login.'
FORM = 'Check the 2nd radio button and enter the number "-7" into the 3rd textbox.'
SEARCH = 'Use the textbox to enter "Bo" and press "Search", then find and click the 5th search result.'
FLIGHT = "Book the {} one-way flight from: ANC to: Boise, ID on 11/30/2016."
RESULTS = ("a Ann", "div u", "a Bo", "div v", "a Cy", "div w", "a 1", "a 2", "a 3", "a >")


@pytest.mark.parametrize(
    ("page", "query", "lines", "done", "wanted"),
    [
        (
            "enter-text",
            'Enter "Bo" into the text field and press Submit.',
            ("input_text", "button Submit"),
            (),
            (1, "Bo"),
        ),
        (
            "enter-text",
            'Enter "Bo" into the text field and press Submit.',
            ("input_text Bo", "button Submit"),
            (),
            (2,),
        ),
        ("enter-text-2", 'Type "Bo" in all upper case letters in it.', ("input_text Bo",), (), (1, "BO")),
        ("enter-text-2", 'Type "Bo" in all lower case letters in it.', ("input_text Bo",), (), (1, "bo")),
        ("enter-password", 'Enter "k2" into both.', ("input_password k2", "input_password"), (), (2, "k2")),
        ("login-user", LOGIN, ("label User", "input_text", "input_password", "button Login"), (), (2, "ann")),
        ("login-user", LOGIN, ("input_text ann", "input_password", "button Login"), (), (2, "x1")),
        ("login-user", LOGIN, ("input_text ann", "input_password x1", "button Login"), (), (3,)),
        ("login-user-popup", LOGIN, ("input_text", "input_password", "button OK", "button Cancel"), (), (4,)),
        ("form-sequence-2", FORM, ("input_radio |off", "input_radio |off", "input_text", "input_text"), (), (2,)),
        (
            "form-sequence-2",
            FORM,
            ("input_radio |off", "input_radio |on", "input_text 3", "input_text", "input_text"),
            (),
            (3, ""),
        ),
        ("search-engine", SEARCH, ("input_text B", "button Search"), (), (1, "Bo")),
        ("search-engine", SEARCH, ("input_text Bo", "button Search"), (), (2,)),
        ("search-engine", SEARCH, ("input_text Bo", "button Search", *RESULTS), ("Search",), (10,)),
        ("search-engine", SEARCH, ("input_text Bo", "button Search", *RESULTS), ("Search", "2"), (5,)),
        ("use-autocomplete-nodelay", 'starts with "Au" and ends with "ia".', ("input_text",), (), (1, "Au")),
        (
            "use-autocomplete-nodelay",
            'starts with "Au" and ends with "alia".',
            ("input_text Au", "button Submit", "div Austria", "div Australia"),
            (),
            (4,),
        ),
        (
            "use-autocomplete-nodelay",
            'starts with "Au".',
            ("input_text Austria", "button Submit"),
            ("Austria",),
            (2,),
        ),
        ("choose-date-nodelay", "Select 02/09/2016 as the date", ("input_text", "button Submit"), (), (1,)),
        (
            "choose-date-nodelay",
            "Select 02/09/2016 as the date",
            ("input_text", "button Submit", "a Prev", "a Next", "span March", "span 2016", "a 9"),
            (),
            (3,),
        ),
        (
            "choose-date-nodelay",
            "Select 02/09/2016 as the date",
            ("input_text", "button Submit", "a Prev", "a Next", "span January", "span 2016", "a 9"),
            (),
            (4,),
        ),
        (
            "choose-date-nodelay",
            "Select 02/09/2016 as the date",
            ("input_text", "button Submit", "a Prev", "a Next", "span February", "span 2016", "a 8", "a 9"),
            (),
            (8,),
        ),
        ("choose-date-nodelay", "Select 02/09/2016 as", ("input_text 02/09/2016", "button Submit"), (), (2,)),
        ("book-flight-nodelay", FLIGHT.format("cheapest"), ("input_text", "input_text", "input_text"), (), (1, "ANC")),
        (
            "book-flight-nodelay",
            FLIGHT.format("cheapest"),
            ("input_text A (ANC)", "input_text Boise, ID", "input_text", "div Boise, ID (BOI)"),
            ("A (ANC)",),
            (4,),
        ),
        (
            "book-flight-nodelay",
            FLIGHT.format("cheapest"),
            ("input_text A (ANC)", "input_text Boise, ID (BOI)", "input_text 11/30/2016", "button Search"),
            ("A (ANC)", "Boise, ID (BOI)"),
            (4,),
        ),
    ],
)
def test_next_move_is_the_action_of_the_first_goal_not_met(page, query, lines, done, wanted):
    assert next_move(page, query, shown(*lines), done) == Move(*wanted)


@pytest.mark.parametrize(("action", "wanted"), [("cheapest", 4), ("shortest", 2)])
def test_the_cheapest_or_shortest_flight_is_booked(action, wanted):
    flights = shown("div 1h 5m", "button Book flight for $90", "div 2h 1m", "button Book flight for $80")
    assert next_move("book-flight-nodelay", FLIGHT.format(action), flights, ()) == Move(wanted)


def posts(*each):
    """Posts of (author, reply, like)."""
    lines = [(f"span {one}", "div text", f"span reply|{reply}", f"span like|{like}") for one, reply, like in each]
    return shown(*(line for post in lines for line in ("span Ann", *post)), "button Submit")


def test_the_named_button_is_pressed_at_every_post_of_the_user():
    query = 'Click the "Like" button on all posts by @bo and then click Submit.'
    seen = posts(("@bo", "off", "on"), ("@cy", "off", "off"), ("@bo", "off", "off"))
    assert next_move("social-media-all", query, seen, ()) == Move(15)
    seen = posts(("@bo", "off", "on"), ("@cy", "off", "on"), ("@bo", "off", "on"))
    assert next_move("social-media-all", query, seen, ()) == Move(10)
    seen = posts(("@bo", "off", "on"), ("@cy", "off", "off"), ("@bo", "off", "on"))
    assert next_move("social-media-all", query, seen, ()) == Move(16)


def test_the_named_button_is_pressed_at_a_number_of_posts():
    query = 'Click the "Like" button on 1 post by @bo and then click Submit.'
    assert next_move("social-media-some", query, posts(("@bo", "off", "off"), ("@bo", "off", "on")), ()) == Move(11)
    assert next_move("social-media-some", query, posts(("@bo", "off", "on"), ("@bo", "off", "on")), ()) == Move(10)


def test_boxes_are_goals_and_other_boxes_are_turned_off_before_submit():
    page, query = "click-checkboxes-large", "Select tea, milk and click Submit."
    boxes = shown("input_checkbox tea|on", "input_checkbox rum|on", "input_checkbox milk|off", "button Submit")
    assert [one.name for one in page_goals(page, query)] == ["box tea", "box milk", "", END]
    assert [is_met(page, query, name, boxes, ()) for name in ("box tea", "box milk", END)] == [True, False, False]
    assert next_move(page, query, boxes, ()) == Move(3)
    boxes = shown("input_checkbox tea|on", "input_checkbox rum|on", "input_checkbox milk|on", "button Submit")
    assert next_move(page, query, boxes, ()) == Move(2)


def test_pages_of_one_rule_have_the_goal_of_the_end_alone():
    query = 'Click on the "ok" button.'
    assert [one.name for one in page_goals("click-button", query)] == [END]
    assert next_move("click-button", query, shown("button no", "button ok"), ()) == Move(2)


def test_next_move_is_none_without_a_fitting_element():
    assert next_move("login-user", LOGIN, [], ()) is None
    assert not set(LONG) & set(PAGES)
