"""Chat format of embedded policies that read pieces of words: `Compact`, with byte-level BPE instead of bytes.

    <USER> What| colour| is| the| door|?  <END><ASSISTANT>      text in pieces of up to a word, digits single
    <CALL> look| d|o|or| {|"|n|":|1|2|}   <CALL_END><END>       control ids as in `Compact`

Ids 0 to 255 are bytes and 256 to 263 the control ids of `Compact`; id 264 + k joins the two ids of merge k. Text is cut
by the vocabulary's pattern before merging, so a piece crosses no word border, and each text is encoded by itself, so a
piece crosses no control id. No merge yields a control id, so no text can contribute one. Ids that a policy sampled
need not be those of `encode_turn`: the record keeps the sampled ids, and `extend` appends to them.

    vocabulary file    {"pattern": regular expression of the cuts, "merges": [[left id, right id], ...]}

Encoding needs the package tokenizers (extra [small]); parsing and decoding need the file alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import ImageProcessor
from handaxe.models.chat_formats.compact import NAMES, VOCAB_SIZE, Compact

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["PATTERN", "Pieces", "byte_characters", "learn_pieces", "piece_tokenizer"]

PATTERN = r" ?\p{L}{1,32}|\p{N}| ?[^\s\p{L}\p{N}]{1,32}|\s{1,32}"
"""Cuts of a text: a word, a digit, punctuation or white space; the space before a word belongs to the word."""
EXTRA = 'this policy reads pieces of words, which need the package tokenizers: pip install "handaxe[small]"'


class Pieces(Compact):
    """Implements `core.protocols.ChatFormat`; see the module.

    Args:
        vocabulary: content of the vocabulary file.
        image_processor: of the model; None for a model without vision.

    Raises:
        CheckpointError: the content is damaged.

    Attributes:
        vocab_size: number of ids, control ids included.

    Example:
        Pieces(policy.model.pieces).decode([264]) is the first piece that the vocabulary learnt, such as " t"

    Paper: byte pair encoding, arXiv:1508.07909; of bytes, as in GPT-2.
    """

    def __init__(self, vocabulary: str, image_processor: ImageProcessor | None = None):
        super().__init__(image_processor)
        self.vocabulary = vocabulary
        self._pattern, self._merges = _read(vocabulary)
        self.bytes_of = dict(Compact.bytes_of)
        for number, (left, right) in enumerate(self._merges):
            self.bytes_of[VOCAB_SIZE + number] = self.bytes_of[left] + self.bytes_of[right]
        self.vocab_size = VOCAB_SIZE + len(self._merges)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and send the vocabulary and the image processor alone."""
        return Pieces, (self.vocabulary, self.image_processor)

    def digest(self) -> str:
        """Return the SHA-256 of the vocabulary, in hexadecimal digits."""
        return sha256(self.vocabulary.encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text.

        Raises:
            InputError: the package tokenizers is missing.
            UnicodeEncodeError: the text is not valid Unicode.
        """
        text.encode()
        return list(self._tokenizer.encode(text).ids)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return piece_tokenizer(self.vocabulary)


def piece_tokenizer(vocabulary: str) -> Tokenizer:
    """Make the tokenizer of a vocabulary, without special tokens: it yields no control id.

    Raises:
        InputError: the package tokenizers is missing.
    """
    try:
        from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
        from tokenizers.models import BPE
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    pattern, merges = _read(vocabulary)
    words = [*byte_characters(), *(f"<{NAMES[control]}>" for control in sorted(NAMES))]
    for left, right in merges:
        words.append(words[left] + words[right])
    pairs = [(words[left], words[right]) for left, right in merges]
    tokenizer = Tokenizer(BPE(vocab={word: id for id, word in enumerate(words)}, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def learn_pieces(texts: Iterable[str], *, size: int = 2048, pattern: str = PATTERN) -> str:
    """Learn a vocabulary by byte pair encoding, the most frequent pairs first.

    Args:
        texts: text of the conversations; equal texts in equal order give equal vocabularies.
        size: number of ids, control ids included; more than 264.
        pattern: regular expression of the cuts.

    Returns:
        Content of the vocabulary file. It has fewer ids if the texts have fewer pairs.

    Raises:
        InputError: the package tokenizers is missing.
    """
    try:
        from tokenizers import Regex, Tokenizer, pre_tokenizers
        from tokenizers.models import BPE
        from tokenizers.trainers import BpeTrainer
    except ImportError as error:
        raise InputError(f"{EXTRA} ({error})") from error
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    trainer = BpeTrainer(vocab_size=size - len(NAMES), initial_alphabet=sorted(byte_characters()), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    number = {word: id for id, word in enumerate(byte_characters())}
    merges = list[tuple[int, int]]()
    for left, right in json.loads(tokenizer.to_str())["model"]["merges"]:
        if left + right not in number:  # a later pair may spell an earlier piece
            number[left + right] = VOCAB_SIZE + len(merges)
            merges.append((number[left], number[right]))
    return json.dumps({"pattern": pattern, "merges": merges}, separators=(",", ":")) + "\n"


def byte_characters() -> list[str]:
    """Return the printable character of each byte in byte-level vocabularies, as in GPT-2."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    substitutes = iter(range(256, 512))
    return [chr(byte if byte in printable else next(substitutes)) for byte in range(256)]


def _read(vocabulary: str) -> tuple[str, list[tuple[int, int]]]:
    """Return pattern and merges of a vocabulary file."""
    try:
        found = json.loads(vocabulary)
        pattern = str(found["pattern"])
        merges = [(int(left), int(right)) for left, right in found["merges"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"the vocabulary of pieces is damaged: {error!r}") from error
    for number, pair in enumerate(merges):
        if any(id < 0 or id in NAMES or id >= VOCAB_SIZE + number for id in pair):
            raise CheckpointError(
                f"the vocabulary of pieces is damaged: merge {number} joins {list(pair)}, not two earlier pieces"
            )
    return pattern, merges
