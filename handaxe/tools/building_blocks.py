"""Functions that enumerated programs are composed of: lists of whole numbers, words and texts.

The annotations are the types of the search, and the source of a function is part of each program that uses it.
"""

from handaxe.tools.program_search import read_blocks

__all__ = ["GRID_BLOCKS", "LIST_BLOCKS", "TEXT_BLOCKS"]

FUNCTIONS = """
def reverse(xs: list[int]) -> list[int]: return xs[::-1]
def ascending(xs: list[int]) -> list[int]: return sorted(xs)
def descending(xs: list[int]) -> list[int]: return sorted(xs, reverse=True)
def drop(xs: list[int], n: int) -> list[int]: return xs[max(n, 0) :]
def take(xs: list[int], n: int) -> list[int]: return xs[: max(n, 0)]
def drop_end(xs: list[int], n: int) -> list[int]: return xs[: max(len(xs) - max(n, 0), 0)]
def take_end(xs: list[int], n: int) -> list[int]: return xs[max(len(xs) - max(n, 0), 0) :]
def concat(xs: list[int], ys: list[int]) -> list[int]: return xs + ys
def zeros(n: int) -> list[int]: return [0] * min(n, 1000)
def indices(xs: list[int]) -> list[int]: return list(range(len(xs)))
def plus(xs: list[int], ys: list[int]) -> list[int]: return [x + y for x, y in zip(xs, ys)]
def keep_where(xs: list[int], ys: list[int]) -> list[int]: return [x for x, y in zip(xs, ys) if y]
def nonzero(xs: list[int]) -> list[int]: return [x for x in xs if x]
def zero(xs: list[int]) -> list[int]: return [x for x in xs if not x]
def is_even(xs: list[int]) -> list[int]: return [int(x % 2 == 0) for x in xs]
def is_below(xs: list[int], n: int) -> list[int]: return [int(x < n) for x in xs]
def recolor(xs: list[int], n: int) -> list[int]: return [n if x else 0 for x in xs]
def one(n: int) -> list[int]: return [n]
def at(xs: list[int], n: int) -> int: return xs[n]
def last(xs: list[int]) -> int: return xs[-1]
def length(xs: list[int]) -> int: return len(xs)
def total(xs: list[int]) -> int: return sum(xs)
def count(xs: list[int], n: int) -> int: return xs.count(n)
def add(a: int, b: int) -> int: return a + b
def subtract(a: int, b: int) -> int: return a - b
def times(a: int, b: int) -> int: return a * b
def remainder(a: int, b: int) -> int: return a % b
def is_equal(a: int, b: int) -> int: return int(a == b)
def common_divisor(xs: list[int]) -> int: return math.gcd(*xs)
def common_multiple(xs: list[int]) -> int: return math.lcm(*xs)
def divide_all(xs: list[int], n: int) -> list[int]: return [x // n for x in xs]
def product(xs: list[int]) -> int: return math.prod(xs)
def one_bits(n: int) -> int: return bin(n).count("1")
def bits(n: int) -> str: return f"{n:b}"
def digits(n: int) -> str: return str(n)
def spell(xs: list[int]) -> list[str]: return [str(x) for x in xs]
def first_word(words: list[str]) -> str: return words[0]
def last_word(words: list[str]) -> str: return words[-1]
def reverse_words(words: list[str]) -> list[str]: return words[::-1]
def sort_words(words: list[str]) -> list[str]: return sorted(words)
def join_commas(words: list[str]) -> str: return ", ".join(words)
def join_slashes(words: list[str]) -> str: return "/".join(words)
def join_spaces(words: list[str]) -> str: return " ".join(words)
def reverse_text(text: str) -> str: return text[::-1]
def lower(text: str) -> str: return text.lower()
def occurrences(text: str, part: str) -> int: return text.count(part)
def text_length(text: str) -> int: return len(text)
"""
GRID_BLOCKS = read_blocks(
    FUNCTIONS,
    "reverse ascending drop drop_end take take_end concat zeros nonzero zero recolor",
)
"""Blocks for rows of colors, with 0 as the background."""
LIST_BLOCKS = read_blocks(
    FUNCTIONS,
    "reverse ascending descending drop take_end concat indices plus keep_where is_even is_below one at "
    "last length total count add subtract times remainder is_equal",
)
"""Blocks for lists of whole numbers."""
TEXT_BLOCKS = read_blocks(
    FUNCTIONS,
    "at last length total product common_divisor common_multiple divide_all ascending one_bits bits "
    "digits spell first_word last_word reverse_words sort_words join_commas join_slashes join_spaces "
    "reverse_text lower occurrences text_length add subtract times",
)
"""Blocks for questions with numbers, words and texts."""
