from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image, image_key, image_spans, is_image_id, name_images
from handaxe.core.records import Author, Message, ParsedTurn
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.compact import ASSISTANT, END, VOCAB_SIZE, Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing.formats import check_format


def test_compact_format_passes():
    check_format(Compact(), vocab_size=VOCAB_SIZE)


class ForgetsToClose(Compact):
    def extend(self, history, new, last_ids, tools):
        return super().extend(history, new, [END], tools)


class AlwaysCloses(Compact):
    def extend(self, history, new, last_ids, tools):
        return super().extend(history, new, [0], tools)


class ClaimsThePolicy(Compact):
    def start(self, messages, tools):
        ids, authors, _ = super().start(messages, tools)
        return Rendered(ids, [*authors[:-1], int(Author.POLICY)])


class MiscountsAuthors(Compact):
    def start(self, messages, tools):
        ids, authors, _ = super().start(messages, tools)
        return Rendered(ids, authors[:-1])


class DropsTheHeader(Compact):
    def extend(self, history, new, last_ids, tools):
        ids, authors, _ = super().extend(history, new, last_ids, tools)
        return Rendered(ids[:-1], authors[:-1])


class TrustsTools(Compact):
    """Parses names of control ids in tool text."""

    def _message(self, out, message, tools):
        if message.role == "tool":
            for piece in message.content.split("<END>"):
                super()._message(out, message.__class__("tool", piece), tools)
        else:
            super()._message(out, message, tools)


class LosesWords(Compact):
    def _message(self, out, message, tools):
        super()._message(out, message.__class__(message.role, message.content[:20], message.calls), tools)


class ForgetsTheStop(Compact):
    def encode_turn(self, message, tools):
        return super().encode_turn(message, tools)[:-1]


class SpeaksForOthers(Compact):
    def encode_turn(self, message, tools):
        return [ASSISTANT, *super().encode_turn(message, tools)]


class MissesCalls(Compact):
    def parse(self, ids, tools):
        return ParsedTurn(super().parse(ids, tools).text)


class ReadsTheStop(Compact):
    def parse(self, ids, tools):
        return super().parse(ids if END in ids else [*ids, 46], tools)


class Forgetful(Compact):
    count = 0

    def start(self, messages, tools):
        self.count += 1
        ids, authors, _ = super().start(messages, tools)
        return Rendered([*ids, self.count % 200], [*authors, 0])


class StopsAtHeaders(Compact):
    header_ids = Compact.header_ids | {END}


@pytest.mark.parametrize(
    "broken, promise",
    [
        (ForgetsToClose, "is not closed"),
        (AlwaysCloses, "is not the opening of the whole"),
        (ClaimsThePolicy, "claim that the policy"),
        (MiscountsAuthors, "authors"),
        (DropsTheHeader, "is not the opening of the whole"),
        (TrustsTools, "made control ids"),
        (LosesWords, "does not decode back"),
        (ForgetsTheStop, "must end in a stop id"),
        (SpeaksForOthers, "holds a stop or header id"),
        (MissesCalls, "is parsed as"),
        (ReadsTheStop, "is parsed differently"),
        (Forgetful, "changes when repeated"),
        (StopsAtHeaders, "both a stop and a header"),
    ],
)
def test_broken_format_raises(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_format(broken(), vocab_size=VOCAB_SIZE)


def test_raising_parser_raises():
    class Strict(Compact):
        def parse(self, ids, tools):
            bytes(i for i in ids if i < 256).decode()
            return super().parse(ids, tools)

    with pytest.raises(UnicodeDecodeError):
        check_format(Strict(), vocab_size=VOCAB_SIZE)


def test_ids_outside_the_vocabulary_raise():
    with pytest.raises(AssertionError, match="outside the vocabulary"):
        check_format(Compact(), vocab_size=200)


# --- images --------------------------------------------------------------------------------------------------------


class Seeing(Compact):
    def __init__(self):
        super().__init__(TinyImageProcessor(8))


class Swaps(Seeing):
    """Neighbouring images come in the wrong order."""

    def start(self, messages, tools):
        return super().start([replace(one, images=one.images[::-1]) for one in messages], tools)


class LastOnly(Seeing):
    """An image loses its tokens when another one comes."""

    def start(self, messages, tools):
        rendered = super().start(messages, tools)
        shown = [key for _, _, key in image_spans(rendered.ids)]
        keep = [
            i for i, t in enumerate(rendered.ids) if not is_image_id(t) or len(shown) < 6 or image_key(t) != shown[0]
        ]
        return Rendered([rendered.ids[i] for i in keep], [rendered.authors[i] for i in keep])


class Shifts(Seeing):
    """Token numbers count from 1."""

    def start(self, messages, tools):
        rendered = super().start(messages, tools)
        return rendered._replace(ids=[token + is_image_id(token) for token in rendered.ids])


class Templated(Seeing):
    """Image tokens have the author of the template."""

    def start(self, messages, tools):
        rendered = super().start(messages, tools)
        authors = [0 if is_image_id(token) else who for token, who in zip(rendered.ids, rendered.authors)]
        return rendered._replace(authors=authors)


class Spells(Seeing):
    """The text <image> becomes an image."""

    def start(self, messages, tools):
        image = Image.of(np.zeros((8, 8, 3), np.uint8))
        changed = [
            Message.of(one.role, one.content.replace("<image>", ""), image, call_id=one.call_id)
            if "<image>" in one.content and not one.images
            else one
            for one in messages
        ]
        return super().start(changed, tools)


class Silent(Seeing):
    """Images are decoded as nothing."""

    def decode(self, ids):
        return super().decode(ids).replace(PLACEHOLDER, "")


class Forgets(Seeing):
    """Extensions lose their images."""

    def extend(self, history, new, last_ids, tools):
        plain = [replace(one, content=one.content.replace(PLACEHOLDER, ""), images=()) for one in new]
        return super().extend(history, plain, last_ids, tools)


class Writes(Seeing):
    """A turn of the policy may have images."""

    def encode_turn(self, message, tools):
        return super().encode_turn(replace(message, content="", images=()) if message.images else message, tools)


class Drops(Compact):
    """A format without images drops them."""

    def start(self, messages, tools):
        plain = [replace(one, content=one.content.replace(PLACEHOLDER, ""), images=()) for one in messages]
        return super().start(plain, tools)


class Blind(Compact):
    """A format without images writes those of users in words too."""

    def start(self, messages, tools):
        named = [replace(one, content=name_images(one.content, one.images), images=()) for one in messages]
        return super().start(named, tools)


def test_format_with_images_passes():
    check_format(Seeing(), vocab_size=VOCAB_SIZE, examples=2)
    with pytest.raises(InputError):
        check_format(Compact(), vocab_size=VOCAB_SIZE, examples=2, images=True)


@pytest.mark.parametrize(
    "broken, promise",
    [
        (Swaps, "images were given"),
        (LastOnly, "images were given|earlier one|another number"),
        (Shifts, "do not count from 0|images were given"),
        (Templated, "has other authors"),
        (Spells, "became an image"),
        (Silent, "are decoded as"),
        (Forgets, "images: opening [+] turn [+] extension"),
        (Writes, "must be refused with InputError"),
        (Drops, "must be written as"),
        (Blind, "must be refused with InputError by a format without images"),
    ],
)
def test_broken_images_raise(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_format(broken(), vocab_size=VOCAB_SIZE, examples=2)
