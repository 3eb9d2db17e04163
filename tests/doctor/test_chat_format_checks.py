import pytest

from handaxe.core.records import Author
from handaxe.core.requests import Rendered
from handaxe.doctor.chat_format_checks import ModelEnds, check_control_text, check_prefix_ids, check_stops, model_ends
from handaxe.models.chat_formats.compact import END, PAD, USER, Compact


def test_sound_format_passes():
    for check in (check_prefix_ids, check_stops, check_control_text):
        found = check(Compact())
        assert (found.level, found.remedy) == ("ok", ""), found


class Forgets(Compact):
    """Drops the first of more than three messages."""

    def start(self, messages, tools):
        return super().start(messages[1:] if len(messages) > 3 else messages, tools)


def test_template_that_drops_a_prefix_is_an_error():
    found = check_prefix_ids(Forgets())
    assert found.level == "error" and found.figures["broken"] > 10
    assert "rendered whole" in found.found and "template" in found.remedy


class Rewrites(Compact):
    """Renders every extension as a fresh sequence, and declares it."""

    def extend(self, history, new, last_ids, tools):
        return self.start([*history, *new], tools)._replace(fresh=True)


def test_template_that_declares_rewriting_is_a_warning():
    found = check_prefix_ids(Rewrites())
    assert found.level == "warning" and "several rows" in found.remedy and found.figures["rewritten"] == 24


class EndsOtherwise(Compact):
    stop_ids = frozenset({PAD})
    header_ids = Compact.header_ids - {PAD}


def test_stop_id_that_the_template_does_not_write_is_an_error():
    found = check_stops(EndsOtherwise())
    assert found.level == "error" and "'<END>' [261]" in found.found and "stops at [256]" in found.found


class EndsEarly(Compact):
    def encode_turn(self, message, tools):
        return [USER, *super().encode_turn(message, tools)]


def test_turn_that_contains_a_control_id_is_an_error():
    found = check_stops(EndsEarly())
    assert found.level == "error" and "'<USER>' (258)" in found.found


def test_end_of_the_model_that_does_not_stop_sampling_is_an_error():
    assert check_stops(Compact(), ModelEnds(frozenset({END}))).level == "ok"
    found = check_stops(Compact(), ModelEnds(frozenset({END, 7})))
    assert found.level == "error" and "[7], which do not stop sampling" in found.found


class Obeys(Compact):
    """Encodes names of control tokens in text as control ids."""

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


def test_tool_text_that_becomes_a_control_token_is_an_error():
    found = check_control_text(Obeys())
    assert found.level == "error" and "'<END>' (261)" in found.found and "extension" in found.found


class Loses(Compact):
    def extend(self, history, new, last_ids, tools):
        ids, authors, _ = super().extend(history, new, last_ids, tools)
        return Rendered(*zip(*[(i, who) for i, who in zip(ids, authors) if i != ord("<")]))


def test_tool_text_that_is_altered_is_an_error():
    found = check_control_text(Loses())
    assert found.level == "error" and "does not decode back in the extension" in found.found


@pytest.mark.slow
@pytest.mark.hf
def test_real_template_that_drops_thoughts_of_earlier_turns_is_a_warning(small_llamas):
    """A tokenizer of transformers, with a template that keeps thoughts and one that drops them."""
    from handaxe.models.chat_formats.chat_template import ChatTemplate
    from handaxe.models.huggingface import load_pretrained
    from handaxe.models.load import load

    policy, model = load(str(small_llamas / "0")), load_pretrained(small_llamas / "0")
    assert check_stops(policy.format, model_ends(_Engine(model))).level == "error"  # its config names another end: 2
    model.module.config.eos_token_id = model.module.generation_config.eos_token_id = model.tokenizer.eos_token_id
    ends = model_ends(_Engine(model))
    assert ends.ends == policy.format.stop_ids and ends.special > ends.ends
    for check in (
        check_prefix_ids,
        lambda format: check_stops(format, ends),
        lambda f: check_control_text(f, ends),
    ):
        assert check(policy.format).level == "ok", check(policy.format)
    tokenizer = policy.model.tokenizer
    kept = tokenizer.chat_template
    content = "(m.content.split('</think>')[-1] if m.role == 'assistant' and not loop.last else m.content)"
    tokenizer.chat_template = kept.replace("m.content", content)
    found = check_prefix_ids(ChatTemplate(tokenizer))
    assert found.level == "warning" and "(thoughts 4)" in found.found


class _Engine:
    def __init__(self, model):
        self.model = model
