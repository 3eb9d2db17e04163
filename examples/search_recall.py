"""How often each way to search finds the right document, on two corpora that need no download."""

import ast
import importlib.util
import sys
import tempfile
from pathlib import Path

from handaxe.tools.index.build_index import build_index
from handaxe.tools.index.search_index import open_index
from handaxe.worlds.library import tasks as library_tasks

QUESTIONS = {
    "parse command line options": "argparse",
    "read and write comma separated files": "csv",
    "compress data like gunzip": "gzip",
    "random sampling from a distribution": "random",
    "compute the median and variance": "statistics",
    "fractions of whole numbers": "fractions",
    "exact decimal arithmetic": "decimal",
    "send mail": "smtplib",
    "start another program and read its output": "subprocess",
    "priority queue": "heapq",
    "find the insertion point in a sorted list": "bisect",
    "hash a password or message": "hashlib",
    "copy whole directory trees": "shutil",
    "make a temporary file": "tempfile",
    "match file names with wildcards": "fnmatch",
    "compare two texts and show the changes": "difflib",
    "measure how long a small piece of code takes": "timeit",
    "run functions in a pool of workers": "concurrent.futures",
    "remember results of a function": "functools",
    "combinations and permutations": "itertools",
    "unicode characters database": "unicodedata",
    "convert objects to bytes and back": "pickle",
    "calendar of a month": "calendar",
    "wrap long lines of text": "textwrap",
}


def module_docs():
    """The docstring of every public module of Python's standard library, without importing any."""
    for name in sorted({*sys.stdlib_module_names, "concurrent.futures"}):
        spec = None if name.startswith("_") else importlib.util.find_spec(name)
        if spec and spec.origin and spec.origin.endswith(".py"):
            text = ast.get_docstring(ast.parse(Path(spec.origin).read_bytes()))
            if text:
                yield {"id": name, "text": text[:800]}


def recall(documents, wanted):
    """Share of (query, document) pairs whose document is among the first 1, 3 and 10."""
    with tempfile.TemporaryDirectory() as folder:
        index = open_index(build_index(documents, folder))
        for way in ("bm25", "dense", "hybrid"):
            ranks = [[hit.passage.id for hit in index.rank(query, 10, way=way)] for query, _ in wanted]
            shares = [sum(key in r[:k] for r, (_, key) in zip(ranks, wanted)) / len(wanted) for k in (1, 3, 10)]
            print(f"  {way:6}  recall@1 {shares[0]:.2f}  @3 {shares[1]:.2f}  @10 {shares[2]:.2f}")


made = list(module_docs())
present = {document["id"] for document in made}
pairs = [(query, key) for query, key in QUESTIONS.items() if key in present]
print(f"Python's library: {len(made)} modules, {len(pairs)} questions written by hand")
recall(made, pairs)
steps = [
    (call["arguments"]["query"], key)
    for task in library_tasks.tasks(count=100, seed=0, split="test")
    for call, key in zip(task.metadata["gold_calls"], task.metadata["gold_documents"])
]
print(f"the invented library: {len(library_tasks.library_documents())} documents, {len(steps)} steps of test questions")
recall(library_tasks.library_documents(), steps)
