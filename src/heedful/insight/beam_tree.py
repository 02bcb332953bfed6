"""The beam as a tree: everything a search considered, and why each branch came to its end.

Made of what a search tells its recorder; nothing is computed again. Knows token ids and scores; how a token is spelled
it is told.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heedful.decoding import BeamStep
from heedful.decoding.length_penalty import penalty_of

Fate = Literal["extended", "pruned", "finished", "beaten"]
"""What became of a candidate:

- "extended": it had a place in the beam, so that its continuations were considered;
- "pruned": it was less probable than the candidates that filled the beam;
- "finished": it is the translation, the best of all that ended;
- "beaten": it ended with a lower score than the translation, or was still open when the search knew enough.
"""


@dataclass(frozen=True)
class BeamNode:
    """One candidate: a hypothesis of an earlier step and one token more."""

    id: int
    parent: int | None
    """The node it continues; None at the first step."""

    step: int
    """The position of its token, from 0."""

    rank: int
    """Its place among the candidates of its step, from 0."""

    token_id: int
    text: str
    token_log_prob: float
    log_prob: float
    """Of everything written up to here."""

    score: float
    """`log_prob` divided by the length penalty of its length: what endings are compared by."""

    fate: Fate
    ended_at: int | None
    """The step that decided its end. Of what was extended, the step at which no continuation of it had a place in the
    beam or ended there; None where one did."""

    is_end: bool
    """Whether nothing can follow it: it is the end symbol, or the longest output allowed."""

    is_forced: bool = False
    """Whether its token was given, and not chosen."""


@dataclass(frozen=True)
class BeamTree:
    """All candidates of one search, in the order in which they were considered."""

    nodes: tuple[BeamNode, ...]
    beam_size: int
    length_penalty: float
    chosen: int
    """The node the translation ends with."""

    def path(self, node_id: int) -> list[BeamNode]:
        """Return the nodes that lead to one, itself last."""
        path = [self.nodes[node_id]]
        while path[-1].parent is not None:
            path.append(self.nodes[path[-1].parent])
        return path[::-1]

    @property
    def best_path(self) -> list[BeamNode]:
        """The nodes of the translation."""
        return self.path(self.chosen)


def grow_tree(
    steps: Iterable[BeamStep],
    *,
    sentence: int,
    beam_size: int,
    length_penalty: float,
    eos_id: int,
    spell: Callable[[int], str],
    forced: Collection[int] = (),
) -> BeamTree | None:
    """Make the tree of one sentence of a recorded search; None when nothing ended, as when a model gives no numbers.

    `spell` gives the piece of an id; the tokens of the steps in `forced` were given, as those of terms are.
    """
    nodes: list[BeamNode] = []
    slots: dict[int, int | None] = {0: None}
    for step in steps:
        lines = np.flatnonzero(step.sentences == sentence)
        if not len(lines):
            break
        line = int(lines[0])
        made = [
            replace(node, id=len(nodes) + number, text=spell(node.token_id))
            for number, node in enumerate(_nodes_of(step, line, slots, beam_size, length_penalty, eos_id))
        ]
        if step.step in forced:
            made = [replace(node, is_forced=True) for node in made]
        continued = {node.parent for node in made if node.fate != "pruned"}
        for barren in (node for node in slots.values() if node is not None and node not in continued):
            nodes[barren] = replace(nodes[barren], ended_at=step.step)
        nodes.extend(made)
        slots = {int(slot): node.id for node in made if (slot := step.next_slots[line, node.rank]) >= 0}
    return _judge(nodes, beam_size, length_penalty)


def _nodes_of(
    step: BeamStep, line: int, slots: dict[int, int | None], beam_size: int, length_penalty: float, eos_id: int
) -> Iterable[BeamNode]:
    """Yield the candidates of one step, best first; those that ended are all "beaten" until the best is known."""
    penalty = penalty_of(step.step + 1, length_penalty)
    at_cap = bool((step.is_finished[line] & (step.token_ids[line] != eos_id)).any())  # the longest output allowed
    num_open = 0
    for rank in np.flatnonzero(step.log_probs[line] > -np.inf).tolist():
        token_id = int(step.token_ids[line, rank])
        is_finished = bool(step.is_finished[line, rank])
        fate: Fate = "pruned"
        if is_finished:
            fate = "beaten"
        elif token_id != eos_id:
            num_open += 1
            if step.next_slots[line, rank] >= 0:
                fate = "extended"
            elif step.is_done[line] and not at_cap and num_open <= beam_size:  # in the beam, but the search is over
                fate = "beaten"
        yield BeamNode(
            id=-1,
            parent=slots[int(step.parent_slots[line, rank])],
            step=step.step,
            rank=rank,
            token_id=token_id,
            text="",
            token_log_prob=float(step.token_log_probs[line, rank]),
            log_prob=float(step.log_probs[line, rank]),
            score=float(step.log_probs[line, rank]) / penalty,
            fate=fate,
            ended_at=None if fate == "extended" else step.step,
            is_end=is_finished or token_id == eos_id,
            is_forced=step.is_given is not None and bool(step.is_given[line, rank]),
        )


def _judge(nodes: Sequence[BeamNode], beam_size: int, length_penalty: float) -> BeamTree | None:
    """Name the winner: the ending with the best score, of equal ones the first."""
    endings = [node for node in nodes if node.is_end and node.fate == "beaten"]
    if not endings:
        return None
    best = max(endings, key=lambda node: (node.score, -node.id))
    judged = [replace(node, fate="finished") if node is best else node for node in nodes]
    return BeamTree(tuple(judged), beam_size, length_penalty, best.id)
