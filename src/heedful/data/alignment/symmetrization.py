"""One alignment from two: links that both directions have, and those that grow from them (Koehn et al., 2005)."""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Symmetrization = Literal["grow-diag-final-and", "intersection", "union", "forward", "reverse"]
Link = tuple[int, int]
"""A source word and a target word, from 0."""

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrized(forth: NDArray[np.bool_], back: NDArray[np.bool_], how: Symmetrization) -> list[list[Link]]:
    """Put two directions together, each [batch, target_len, source_len]; returns the links of each sentence.

    They are in order of the source, then of the target.
    """
    match how:
        case "forward":
            return _links(forth)
        case "reverse":
            return _links(back)
        case "intersection":
            return _links(forth & back)
        case "union":
            return _links(forth | back)
        case "grow-diag-final-and":
            both, ahead, behind = _links(forth & back), _links(forth), _links(back)
            return [
                links if len(links) == len(one) == len(other) else _grown(links, one, other)
                for links, one, other in zip(both, ahead, behind, strict=True)
            ]


def _links(found: NDArray[np.bool_]) -> list[list[Link]]:
    """Return the links of each sentence of found [batch, target_len, source_len]."""
    numbers, sources, targets = np.nonzero(found.transpose(0, 2, 1))
    borders = np.searchsorted(numbers, np.arange(len(found) + 1)).tolist()
    all_links = list(zip(sources.tolist(), targets.tolist(), strict=True))
    return [all_links[start:stop] for start, stop in pairwise(borders)]


def _grown(both: list[Link], forth: list[Link], back: list[Link]) -> list[Link]:
    """Let the links of both directions grow to neighbours that one of them has, then take what is still free."""
    union = {*forth, *back}
    cells = sorted(union)
    found = set(both)
    sources, targets = {source for source, _ in both}, {target for _, target in both}

    def take(link: Link) -> None:
        found.add(link)
        sources.add(link[0])
        targets.add(link[1])

    grows = len(union) > len(found)
    while grows:
        grows = False
        for source, target in cells:
            if (source, target) not in found:
                continue
            for right, down in _NEIGHBOURS:
                link = source + right, target + down
                if link in union and link not in found and not (link[0] in sources and link[1] in targets):
                    take(link)
                    grows = True
    for direction in (forth, back):
        for link in direction:
            if link[0] not in sources and link[1] not in targets:
                take(link)
    return sorted(found)
