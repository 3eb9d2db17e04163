import json

from handaxe.models.exporting.card import Facts, card

FACTS = Facts({"recipe": "otc", "none": ""}, "", [], False, "", True, [])
TOOL = {"type": "function", "function": {"name": "f", "description": "```\n# Not a heading\n````", "parameters": {}}}


def headings(page):
    """The headings outside blocks of code."""
    found, fence = [], ""
    for line in page.splitlines():
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            fence = "" if line == fence else fence
        elif len(ticks) >= 3:
            fence = ticks
        elif line.startswith("#"):
            found.append(line)
    assert not fence
    return found


def test_a_description_of_a_tool_cannot_end_its_block():
    page = card(FACTS._replace(tools=[TOOL], system="```\n# Nor this"))
    sections = ["# A policy that calls tools", "## Tools", "## System message", "## In transformers"]
    assert headings(page) == [*sections, "## Behind a server"]
    assert json.dumps(TOOL["function"]["description"]) in page


def test_what_is_told_of_the_training_stays_on_its_line():
    page = card(FACTS._replace(about={"command": "a `b`\n# c"}))
    assert "- command: `a 'b' # c`\n" in page and "# c" not in headings(page)
    assert "- made by a script" in card(FACTS._replace(about={}))


def test_what_loading_needs_is_said():
    assert "trust_remote_code" not in card(FACTS)
    own = card(FACTS._replace(own_code=True))
    assert own.count("trust_remote_code=True") == 2 and "transformers serve FOLDER --trust-remote-code" in own
    adapter = card(FACTS._replace(base="some/base"))
    assert 'from_pretrained("some/base")' in adapter and "PeftModel" in adapter
    assert "returns calls as text" in card(FACTS._replace(reads_calls=False))
    assert "It was trained without tools" in card(FACTS)


def test_names_that_text_can_make_are_listed():
    page = card(FACTS._replace(leaky=["<|im_end|>"]))
    assert "## What text can do" in headings(page) and '"<|im_end|>"' in page
