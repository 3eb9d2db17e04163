"""ToolRec (arXiv:2405.15114): surrogate users that call retrieval and rank tools by attribute."""

from __future__ import annotations

import numpy as np

from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.tool_rec.compare_tools import FIGURES, compare_tools
from handaxe.papers.tool_rec.film_data import hide_attributes, load_films, permute_attributes
from handaxe.papers.tool_rec.film_tools import FrozenRecommender

__all__ = ["tool_rec"]

GAINS = {
    "tools": ("all", "alone"),
    "choice": ("rule", "random"),
    "matched": ("rule", "matched"),
    "retrieval": ("all", "rank"),
    "rank": ("all", "retrieve"),
}
"""Gain -> arm and the arm that it is compared with."""


def tool_rec(*, users: int = 943, held: int = 5, known: float = 0.1) -> StudyFunction:
    """Recommend films by sessions of scripted surrogate users, with rich, sparse and permuted attributes.

    Figures:
        DOMAIN/ARM/recall, .../ndcg, .../rounds    Recall@10, NDCG@10 and actions of a session, means over users; DOMAIN
                                is rich (all attributes), sparse (known for few films) or permuted (of other films); for
                                ARM see `compare_tools.ARMS`
        DOMAIN/gain/tools       NDCG@10 of the arm all less that of the recommender alone; /low and /high are the ends
                                of its 95 % interval over users
        DOMAIN/gain/choice      that of one attribute by the rule less that of a random one
        DOMAIN/gain/matched     that of the rule less that of a random attribute in the same sessions
        DOMAIN/gain/retrieval, .../rank     that of both tools less that without retrieval, or ranking, by attribute
        DOMAIN/recall/tools     Recall@10 of the arm all less that of the recommender alone
        gain/rich_sparse        rich/gain/tools less sparse/gain/tools

    Args:
        users: first users of MovieLens 100k.
        held: tested items of each user, the last ones.
        known: share of films with attributes in the sparse domain.
    """

    def measure(seed: int) -> dict[str, float]:
        films = load_films()
        films = films._replace(sequences=films.sequences[:users])
        frozen = FrozenRecommender(films.sequences, films.items, held=held + 1)
        hidden = derive_seed("tool_rec hidden", seed) % 2**32
        domains = {
            "rich": films,
            "sparse": hide_attributes(films, known=known, seed=hidden),
            "permuted": permute_attributes(films, seed=hidden),
        }
        figures = dict[str, float]()
        gains = dict[str, np.ndarray]()
        for domain, data in domains.items():
            found = compare_tools(frozen, data, seed=seed)
            for arm, own_UK in found.items():
                figures |= {f"{domain}/{arm}/{name}": float(own_UK[:, k].mean()) for k, name in enumerate(FIGURES)}
            for name, (arm, other) in GAINS.items():
                figures |= interval_figures(f"{domain}/gain/{name}", found[arm][:, 1] - found[other][:, 1])
            figures |= interval_figures(f"{domain}/recall/tools", found["all"][:, 0] - found["alone"][:, 0])
            gains[domain] = found["all"][:, 1] - found["alone"][:, 1]
        return figures | interval_figures("gain/rich_sparse", gains["rich"] - gains["sparse"])

    return measure
