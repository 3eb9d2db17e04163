"""Generate pages of the site: start, contributing, worlds, papers with forest plots, and the reference."""

import ast
import re
from collections import Counter
from pathlib import Path

import mkdocs_gen_files

from handaxe.commands.papers import read_entries
from handaxe.methods.catalog import HOME
from handaxe.methods.lookup import find, list_names
from handaxe.methods.taxonomy import list_taxonomies
from handaxe.view.forest import claim_effect, plot_forest
from handaxe.view.papers import find_decision, folder_page
from handaxe.view.taxonomies import map_page, taxonomy_page
from handaxe.view.verdicts import claim_with_baseline

ROOT = HOME.parent
WIDTH = 90
"""Characters of a label."""
PUBLIC = (
    "advantages", "credit", "curricula", "engines", "envs", "judges", "losses", "losses.adjustments",
    "losses.corrections", "losses.covariance", "losses.ratios", "losses.reductions", "losses.surrogates",
    "losses.terms", "rewards", "rollouts", "rollouts.search", "selection", "tools", "training.stages", "worlds",
)  # fmt: skip
VERBS = {
    "holds": "hold", "reversed": "are reversed", "no effect": "show no effect", "undecided": "are undecided",
    "not testable": "are not testable", "open": "were not replicated yet",
}  # fmt: skip
PAGES_OF_CORE = ("records", "protocols", "requests", "batch", "metrics", "errors", "endings")


def write(path, text):
    with mkdocs_gen_files.open(path, "w") as file:
        file.write(text)


def start_and_contributing():
    """Write README.md and CONTRIBUTING.md as pages, with links into docs/ as links of the site."""
    for source, page in (("README.md", "index.md"), ("CONTRIBUTING.md", "contributing.md")):
        text = (ROOT / source).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", text)
        text = re.sub(r"\]\(PAPERS\.md\)", "](papers/index.md)", text)
        write(page, re.sub(r"\]\(CONTRIBUTING\.md\)", "](contributing.md)", text))


def worlds():
    lines = ["# Every world", "", "| world | summary | module |", "|---|---|---|"]
    for name in list_names("worlds"):
        made = find("worlds", name)
        doc = (made.__doc__ or "").strip().partition("\n")[0]
        lines.append(f"| `{name}` | {doc} | `{made.__module__.removeprefix('handaxe.')}` |")
    write("generated/worlds.md", "\n".join(lines) + "\n")


def papers():
    entries, studies = read_entries(ROOT)
    folders = sorted({one.method.folder for one in entries} | {one.study.file.parent for one in studies})
    summary = ["- [Papers](index.md)"]
    rows, everything = [], []
    for folder in folders:
        own = [one for one in entries if one.method.folder == folder]
        computed = [one for one in studies if one.study.file.parent == folder]
        paper = own[0].method.paper if own else computed[0].study.paper
        text = folder_page(paper, own, computed, ROOT)
        effects = read_effects(own)
        if effects:
            text += f"\n![Effects of the claims]({folder.name}.svg)\n"
            plot(f"papers/{folder.name}.svg", effects, paper.short)
            everything += effects
        write(f"papers/{folder.name}.md", text)
        summary.append(f"- [{paper.short}]({folder.name}.md)")
        rows += [row(one, folder.name) for one in own]
    summary += surveys()
    order = {"holds": 0, "undecided": 1, "no effect": 2, "not testable": 3, "reversed": 4}
    everything.sort(key=lambda one: (order[one.verdict], -one.mean))
    plot("papers/effects.svg", everything, "All decided claims")
    head = "| paper | number | arXiv | method | holds | reversed | no effect | undecided | not testable | open |"
    counts = Counter(word for one in rows for word in one[-1])
    tally = ", ".join(f"{counts[word]} {verb}" for word, verb in VERBS.items())
    lines = [
        "---", "hide: [toc]", "---", "", "# Papers", "",
        f"{sum(counts.values())} claims: {tally}. Click a column to sort.", "", head,
        "|---|---|---|---|---|---|---|---|---|---|", *(cells for cells, _ in rows), "",
        "## Effects of all decided claims", "", "![Effects of all decided claims](effects.svg)", "",
    ]  # fmt: skip
    write("papers/index.md", "\n".join(lines))
    write("papers/SUMMARY.md", "\n".join(summary) + "\n")


def surveys():
    """Write a page per survey, and the map that joins them; returns their lines of the summary."""
    found = list_taxonomies()
    for one in found:
        page = re.sub(r"\]\(\.\./\.\./\.\./docs/field\.md\)", "](../field.md)", taxonomy_page(one, ROOT))
        write(f"papers/{one.folder.name}.md", to_source(page, one.folder))
    page = re.sub(r"\]\(\.\./handaxe/papers/(\w+)/README\.md\)", r"](papers/\1.md)", map_page(found, ROOT))
    write("field.md", to_source(page, ROOT / "docs"))
    return [f"- [{one.short}]({one.folder.name}.md)" for one in found]


def to_source(text, folder):
    """Replace relative links to files and folders of the package by their dotted names: the site has no source."""

    def name(match):
        target = (folder / match[2]).resolve()
        return match[1] if target.is_relative_to(HOME) else match[0]

    return re.sub(r"\[(`[^`]+`)\]\(([^)]+)\)", name, text)


def row(one, folder):
    page, paper = one.method.page, one.method.paper
    found = [find_decision(claim, one.result) for claim in page.claims]
    words = ["open" if each is None else each.decision.verdict for each in found]
    counts = Counter(words)
    cells = [f"[{page.short}]({folder}.md)", "" if paper.number is None else str(paper.number)]
    cells += [f"[{paper.arxiv}](https://arxiv.org/abs/{paper.arxiv})" if paper.arxiv else "", f"`{page.name}`"]
    cells += [str(counts[w]) for w in VERBS]
    return f"| {' | '.join(cells)} |", words


def read_effects(entries):
    found = []
    for one in entries:
        for claim in one.method.page.claims:
            decided = find_decision(claim, one.result)
            effect = None if decided is None else claim_effect(label(one, claim), decided)
            found += [] if effect is None else [effect]
    return found


def label(one, claim):
    """Return the label of a claim, such as "otc: calls down, against grpo_no_kl"."""
    text = f"{one.method.name}: {claim_with_baseline(claim, one.method.page.base)}"
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def plot(path, effects, title):
    with mkdocs_gen_files.open(path, "w") as file:
        plot_forest(effects, Path(file.name), title=title)


def reference():
    """Write a page per public package, with the names of the stub in order."""
    summary = []
    for package in PUBLIC:
        folder = HOME.joinpath(*package.split("."))
        names = []
        for node in ast.parse((folder / "__init__.pyi").read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                names += [f"handaxe.{package}.{node.module}.{one.name}" for one in node.names]
        doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
        blocks = "\n\n".join(f"::: {name}" for name in names)
        write(f"reference/{package}.md", f"# handaxe.{package}\n\n{doc.partition(chr(10))[0]}\n\n{blocks}\n")
        summary.append(f"- [handaxe.{package}]({package}.md)")
    for page in PAGES_OF_CORE:
        write(f"reference/core.{page}.md", f"# handaxe.core.{page}\n\n::: handaxe.core.{page}\n")
        summary.append(f"- [handaxe.core.{page}](core.{page}.md)")
    top = [
        f"handaxe{node.module and '.' + node.module}.{one.name}"
        for node in ast.parse((HOME / "__init__.pyi").read_text()).body
        if isinstance(node, ast.ImportFrom) and node.module
        for one in node.names
        if not node.module.startswith("core")
    ]
    blocks = "\n\n".join(f"::: {name}" for name in top)
    write("reference/index.md", f"# handaxe\n\nThe names of `import handaxe as hx`.\n\n{blocks}\n")
    write("reference/SUMMARY.md", "\n".join(["- [handaxe](index.md)", *summary]) + "\n")


start_and_contributing()
worlds()
papers()
reference()
