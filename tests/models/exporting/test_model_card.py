import json

from handaxe.models.exporting.model_card import CardFacts, model_card

FACTS = CardFacts({"recipe": "otc", "none": ""}, "", [], False, "", True, [])
TOOL = {"type": "function", "function": {"name": "f", "description": "```\n# Not a heading\n````", "parameters": {}}}


def headings(page):
    """List the headings outside code blocks."""
    lines, fence = [], ""
    for line in page.splitlines():
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            fence = "" if line == fence else fence
        elif len(ticks) >= 3:
            fence = ticks
        elif line.startswith("#"):
            lines.append(line)
    assert not fence
    return lines


def test_tool_description_cannot_end_its_code_block():
    page = model_card(FACTS._replace(tools=[TOOL], system="```\n# Nor this"))
    sections = ["# A policy that calls tools", "## Tools", "## System message", "## In transformers"]
    assert headings(page) == [*sections, "## Behind a server"]
    assert json.dumps(TOOL["function"]["description"]) in page


def test_training_facts_stay_on_one_line():
    page = model_card(FACTS._replace(about={"command": "a `b`\n# c"}))
    assert "- command: `a 'b' # c`\n" in page and "# c" not in headings(page)
    assert "- made by a script" in model_card(FACTS._replace(about={}))


def test_card_names_the_requirements_of_loading():
    assert "trust_remote_code" not in model_card(FACTS)
    custom = model_card(FACTS._replace(own_code=True))
    assert custom.count("trust_remote_code=True") == 2 and "transformers serve FOLDER --trust-remote-code" in custom
    adapter = model_card(FACTS._replace(base="some/base"))
    assert 'from_pretrained("some/base")' in adapter and "PeftModel" in adapter
    assert "returns calls as text" in model_card(FACTS._replace(parses_calls=False))
    assert "trained without tools" in model_card(FACTS)


def test_card_lists_leaky_control_tokens():
    page = model_card(FACTS._replace(leaky=["<|im_end|>"]))
    assert "## Control tokens in text" in headings(page) and '"<|im_end|>"' in page
