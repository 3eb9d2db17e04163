import pytest

from handaxe.core.records import Author, ParsedTurn
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.compact import ASSISTANT, END, VOCAB_SIZE, Compact
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
