import pytest

from handaxe.core.records import Author
from handaxe.core.requests import Rendered
from handaxe.doctor.template import ModelEnds, check_control_text, check_keeps_prefixes, check_stops, model_ends
from handaxe.models.compact import END, PAD, USER, Compact


def test_a_sound_format():
    for check in (check_keeps_prefixes, check_stops, check_control_text):
        found = check(Compact())
        assert (found.level, found.remedy) == ("ok", ""), found


class Forgets(Compact):
    """Leaves the first message out as soon as there are more than three."""

    def start(self, messages, tools):
        return super().start(messages[1:] if len(messages) > 3 else messages, tools)


def test_a_template_that_drops_a_prefix():
    found = check_keeps_prefixes(Forgets())
    assert found.level == "wrong" and found.figures["broken"] > 10
    assert "rendered whole" in found.found and "template" in found.remedy


class Rewrites(Compact):
    """Says itself that it starts afresh, and is true to that."""

    def extend(self, history, new, last_ids, tools):
        return self.start([*history, *new], tools)._replace(fresh=True)


def test_a_template_that_says_it_rewrites_is_only_dearer():
    found = check_keeps_prefixes(Rewrites())
    assert found.level == "look" and "several rows" in found.remedy and found.figures["rewritten"] == 24


class EndsOtherwise(Compact):
    stop_ids = frozenset({PAD})
    header_ids = Compact.header_ids - {PAD}


def test_a_stop_id_that_the_template_does_not_write():
    found = check_stops(EndsOtherwise())
    assert found.level == "wrong" and "'<END>' [261]" in found.found and "stops at [256]" in found.found


class EndsEarly(Compact):
    def encode_turn(self, message, tools):
        return [USER, *super().encode_turn(message, tools)]


def test_a_turn_that_holds_what_ends_it():
    found = check_stops(EndsEarly())
    assert found.level == "wrong" and "'<USER>' (258)" in found.found


def test_an_end_of_the_models_own():
    assert check_stops(Compact(), ModelEnds(frozenset({END}))).level == "ok"
    found = check_stops(Compact(), ModelEnds(frozenset({END, 7})))
    assert found.level == "wrong" and "[7], at which sampling goes on" in found.found


class Obeys(Compact):
    """Takes the names of control tokens in anybody's text for the tokens."""

    def start(self, messages, tools):
        return _obeyed(super().start(messages, tools))

    def extend(self, history, new, last_ids, tools):
        return _obeyed(super().extend(history, new, last_ids, tools))


def _obeyed(part):
    name, ids, authors = list(b"<END>"), list(part.ids), list(part.authors)
    for place in range(len(ids) - len(name), -1, -1):
        if ids[place : place + len(name)] == name:
            ids[place : place + len(name)], authors[place : place + len(name)] = [END], [Author.TEMPLATE]
    return Rendered(ids, authors, part.fresh)


def test_text_of_a_tool_that_becomes_a_control_token():
    found = check_control_text(Obeys())
    assert found.level == "wrong" and "'<END>' (261)" in found.found and "extension" in found.found


class Loses(Compact):
    def extend(self, history, new, last_ids, tools):
        ids, authors, _ = super().extend(history, new, last_ids, tools)
        return Rendered(*zip(*[(i, who) for i, who in zip(ids, authors) if i != ord("<")]))


def test_text_of_a_tool_that_is_altered():
    found = check_control_text(Loses())
    assert found.level == "wrong" and "does not decode back in the extension" in found.found


@pytest.mark.hf
def test_a_real_template_that_drops_thoughts_and_one_that_does_not(small_llamas):
    """A real tokenizer of transformers; the second template leaves out what earlier turns thought."""
    from handaxe.models.chat_template import ChatTemplate
    from handaxe.models.huggingface import load_pretrained
    from handaxe.models.load import load

    policy, model = load(str(small_llamas / "0")), load_pretrained(small_llamas / "0")
    assert check_stops(policy.format, model_ends(_Engine(model))).level == "wrong"  # its config names another end: 2
    model.module.config.eos_token_id = model.module.generation_config.eos_token_id = model.tokenizer.eos_token_id
    told = model_ends(_Engine(model))
    assert told.ends == policy.format.stop_ids and told.special > told.ends
    for check in (
        check_keeps_prefixes,
        lambda format: check_stops(format, told),
        lambda f: check_control_text(f, told),
    ):
        assert check(policy.format).level == "ok", check(policy.format)
    tokenizer = policy.model.tokenizer
    kept = tokenizer.chat_template
    content = "(m.content.split('</think>')[-1] if m.role == 'assistant' and not loop.last else m.content)"
    tokenizer.chat_template = kept.replace("m.content", content)
    found = check_keeps_prefixes(ChatTemplate(tokenizer))
    assert found.level == "look" and "(thoughts 4)" in found.found


class _Engine:
    def __init__(self, model):
        self.model = model
