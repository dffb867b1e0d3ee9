"""Consistency of disclosed values with dictionary cells: three modes (Definitions: consistency).

A mode is resolved once, by rewriting the links of a dictionary: each code gets *seeds*, nodes of the
hierarchy, so that a disclosed node is consistent with the code iff it is ⪰ one of them. Hence every mode is
an up-set per attribute (generalising never loses consistency), and everything that counts or searches works
on the rewritten dictionary without knowing of modes. ⊥ disclosed is consistent with every cell.

Jaro similarities (Definitions: Jaro similarity) are those of rapidfuzz, which has the same definition. Its
own cut-off is not used: it rejects pairs whose similarity is the threshold but for the rounding of doubles.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from rapidfuzz.distance import Jaro
from rapidfuzz.process import cdist

from app.domain.arrays import Floats, Ints, Longs, concatenated_ranges
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute, codes_with_texts
from app.domain.dictionaries.dictionary import Mode as Mode
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import UNKNOWN
from app.domain.tables.distinct import starts_of_runs
from app.domain.tables.numbers import lowest_accepted

PAIRS_AT_ONCE = 1 << 22


def normalised(text: str) -> str:
    """The text in Unicode normal form C, case-folded, without surrounding white space."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).strip()


def similar_pairs(
    queries: Sequence[str], choices: Sequence[str], threshold: float
) -> Iterator[tuple[int, Ints, Ints]]:
    """All pairs with similarity ≥ ``threshold`` − 1e-9, in blocks of queries.

    Yields the number of the block's first query, the queries' positions within the block and the choices'
    positions, ordered by query and then by choice. A block holds at most ``PAIRS_AT_ONCE`` similarities.
    """
    height = max(1, PAIRS_AT_ONCE // max(1, len(choices)))
    for first in range(0, len(queries), height):
        block = queries[first : first + height]
        similarity: Floats = cdist(
            block, choices, scorer=Jaro.similarity, dtype=np.float64, score_cutoff=None
        )
        rows, found = np.nonzero(similarity >= lowest_accepted(threshold))
        yield first, rows.astype(np.int32), found.astype(np.int32)


@dataclass(frozen=True)
class Consistency:
    """How a disclosed value y and a dictionary cell t are compared, unless y is ⊥.

    Parameters
    ----------
    mode
        ``compatible``: they share a leaf. ``subsumed``: t ⪯ y; a cell ⊥ fits ⊥ alone. ``jaro``: some leaf of
        y and some leaf of t (its text, if the hierarchy does not have it) are similar; a cell ⊥ fits all.
    threshold
        Least Jaro similarity in [0, 1], inclusive up to 1e-9; for ``jaro`` only.
    normalise
        Compare texts in Unicode normal form C, case-folded and trimmed; for ``jaro`` only.
    """

    mode: Mode = "compatible"
    threshold: float = 0.8
    normalise: bool = False

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise InvalidInput.of(
                "/consistency/mode",
                "unknown-choice",
                f"The consistency mode is not one of {', '.join(get_args(Mode))}.",
            )
        if not 0 <= self.threshold <= 1:
            raise InvalidInput.of(
                "/consistency/threshold", "out-of-range", "The least similarity must be in 0..1."
            )


COMPATIBLE = Consistency()


def under(
    dictionary: Dictionary, default: Consistency, by_attribute: Mapping[str, Consistency] | None = None
) -> Dictionary:
    """The dictionary with every link rewritten for its attribute's mode.

    ``by_attribute`` takes precedence over ``default``; attributes that the dictionary does not carry are ⊥ in
    every row and need no mode.
    """
    chosen = by_attribute or {}
    links = tuple(_rewritten(link.meaning, chosen.get(link.attribute, default)) for link in dictionary.links)
    if all(new is old for new, old in zip(links, dictionary.links, strict=True)):
        return dictionary
    return Dictionary(dictionary.n_entities, links, dictionary.entity_ids, dictionary.comparable_ids)


def _rewritten(link: LinkedAttribute, consistency: Consistency) -> LinkedAttribute:
    if consistency.mode == "subsumed":
        return _subsumed(link)
    return _jaro(link, consistency) if consistency.mode == "jaro" else link


def _subsumed(link: LinkedAttribute) -> LinkedAttribute:
    own = np.full(link.n_codes, UNKNOWN, dtype=np.int32) if link.nodes is None else link.nodes
    lists: list[list[int]] = []
    for code, node in enumerate(own.tolist()):
        leaves = link.hierarchy.leaves[link.leaves[link.starts[code] : link.starts[code + 1]]]
        if node != UNKNOWN:
            lists.append([node])
        else:
            lists.append(link.hierarchy.least_above(leaves.tolist()) if len(leaves) else [])
    starts = np.zeros(link.n_codes + 1, dtype=np.int64)
    np.cumsum([len(nodes) for nodes in lists], out=starts[1:])
    return replace(
        link,
        starts=starts,
        leaves=np.empty(0, dtype=np.int32),
        everything=np.zeros(link.n_codes, dtype=bool),
        mode="subsumed",
        seeds=np.array([node for nodes in lists for node in nodes], dtype=np.int32),
        before=link,
    )


def _jaro(link: LinkedAttribute, consistency: Consistency) -> LinkedAttribute:
    column, code_of, outside_of = codes_with_texts(link)
    sizes = np.diff(link.starts)[code_of]
    own_leaves = link.leaves[concatenated_ranges(link.starts[:-1][code_of], sizes)]
    with_text = np.flatnonzero(outside_of >= 0)
    used, query_of_leaf = np.unique(own_leaves, return_inverse=True)
    labels = [link.hierarchy.labels[node] for node in link.hierarchy.leaves.tolist()]
    texts = [labels[leaf] for leaf in used.tolist()]
    if link.outside is not None:
        texts += [link.outside.labels[i] for i in outside_of[with_text].tolist()]
    first, near = _similar_leaves(texts, labels, consistency)
    # One (code, text) pair per leaf that a cell may be, and one per cell outside the hierarchy.
    owners = np.concatenate([np.repeat(np.arange(len(code_of)), sizes), with_text])
    queries = np.concatenate([query_of_leaf.reshape(-1), len(used) + np.arange(len(with_text))])
    repeats = np.diff(first)[queries]
    n_leaves = len(labels)
    keys = np.repeat(owners, repeats).astype(np.int64) * n_leaves
    keys += near[concatenated_ranges(first[:-1][queries], repeats)]
    keys.sort()
    keys = keys[starts_of_runs(keys)]
    return replace(
        link,
        column=column,
        starts=np.searchsorted(keys, np.arange(len(code_of) + 1) * n_leaves).astype(np.int64),
        leaves=(keys % n_leaves).astype(np.int32),
        everything=link.everything[code_of],
        nodes=None,
        outside=None,
        mode="jaro",
        before=link,
    )


def _similar_leaves(
    texts: Sequence[str], labels: Sequence[str], consistency: Consistency
) -> tuple[Longs, Ints]:
    """Leaf indices similar to each text: those of the i-th are ``near[first[i]:first[i + 1]]``."""
    if consistency.normalise:
        texts, labels = [normalised(t) for t in texts], [normalised(label) for label in labels]
    counts = np.zeros(len(texts), dtype=np.int64)
    parts = [np.empty(0, dtype=np.int32)]
    for start, rows, found in similar_pairs(texts, labels, consistency.threshold):
        here = np.bincount(rows)
        counts[start : start + len(here)] = here
        parts.append(found)
    return np.concatenate([[0], np.cumsum(counts)]), np.concatenate(parts)
