"""Entities that everybody can look up, and how many of them a generalisation stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np
from annotated_types import Len

from app.domain.arrays import Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import ColumnName, Hypothesis, LabelText
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.generalised_records import GeneralisedRecords
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.private_release import levels_of
from app.domain.mechanisms.public_scores import PublicScores
from app.domain.tables.distinct import group, row_keys

MOST_ENTITIES: Final = 10_000
OF_DICTIONARY: Final = (
    "The dictionary is taken to be known without the data, which nobody checks: if it is the table itself, "
    "or was made of it, nothing is promised."
)
DICTIONARY_IS_PUBLIC: Final = Hypothesis("dictionary_is_public", "assumed", OF_DICTIONARY)
Entities = Mapping[ColumnName, Annotated[tuple[LabelText, ...], Len(1, MOST_ENTITIES)]]
"""Attribute → its value of each entity."""


@dataclass(frozen=True, eq=False)
class PublicDictionary:
    """Entities by the nodes of their values.

    An attribute that no entity has a value of narrows nobody down.
    """

    attributes: tuple[int, ...]
    entities: GeneralisedRecords

    @classmethod
    def read(
        cls, columns: Mapping[str, Sequence[str]], context: MechanismContext, pointer: str
    ) -> PublicDictionary:
        """From labels, attribute by attribute; InvalidInput for attributes and labels that there are not.

        Labels are looked up in declared hierarchies alone, of what is shown: whether another has a value
        would tell of the data.
        """
        table, places, codes = context.table, [], []
        refuse(tuple(faults_of_dictionary(columns, context, pointer)))
        for name, labels in columns.items():
            places.append(table.position(name))
            codes.append(_nodes(labels, table.hierarchies[places[-1]], f"{pointer}/{name}"))
        trees = tuple(table.hierarchies[j] for j in places)
        rows = np.stack(codes, axis=1)
        depths = tuple(own.height for own in trees)
        return cls(tuple(places), GeneralisedRecords(trees, depths, rows, np.ones(len(rows), dtype=np.int64)))

    @property
    def size(self) -> int:
        """How many entities there are."""
        return len(self.entities.codes)

    def counts(self, nodes: Sequence[Ints]) -> Longs:
        """(n,) how many entities are below generalisations that all have the same depths; at least 1."""
        trees = self.entities.hierarchies
        shown = [nodes[j] for j in self.attributes]
        vector = tuple(int(own.depth[at[0]]) for own, at in zip(trees, shown, strict=True))
        reaching = np.flatnonzero(self.entities.reaching(vector))
        columns = [
            np.concatenate([above, at])
            for above, at in zip(self.entities.nodes(vector, reaching), shown, strict=True)
        ]
        keys, limit = row_keys(columns, [own.n_nodes for own in trees], len(columns[0]))
        first, of_row = group(keys, limit)
        found = np.bincount(of_row[: len(reaching)], minlength=len(first))
        return np.maximum(found[of_row[len(reaching) :]], 1)

    def worth(self, scores: PublicScores, nodes: Sequence[Ints]) -> Floats:
        """(n,) the objective of such generalisations, counted among the entities."""
        return scores.score(nodes, self.counts(nodes))


def resting_on(entities: Entities | None, promised: PrivacyGuarantee) -> PrivacyGuarantee:
    """The promise with what it rests on beside that: if there is a dictionary, on its being public."""
    if entities is None:
        return promised
    return replace(promised, hypotheses=(*promised.hypotheses, DICTIONARY_IS_PUBLIC))


def require_entities(entities: Entities | None) -> None:
    """InvalidInput for what is no table: every attribute has a value of each of the entities."""
    sizes = {len(own) for own in (entities or {}).values()}
    if entities is not None and (len(sizes) != 1 or not 0 < max(sizes) <= MOST_ENTITIES):
        raise InvalidInput.of(
            "/dictionary",
            "wrong-shape",
            f"The dictionary is no table of 1 to {MOST_ENTITIES:,} entities.",
            "Give every attribute that it has one value per entity.",
        )


def faults_of_dictionary(columns: Iterable[str], context: MechanismContext, pointer: str) -> Iterator[Fault]:
    """Which attributes a dictionary must not have: unknown, suppressed, or of undeclared values."""
    table, levels = context.table, levels_of(context)
    for name in columns:
        if name not in table.attributes:
            yield Fault(
                f"{pointer}/{name}",
                "unknown-attribute",
                f"The table has no attribute {name!r}.",
                "Name disclosed attributes.",
            )
        elif name not in context.public or levels[table.position(name)] >= max(
            table.heights[table.position(name)], 1
        ):
            yield Fault(
                f"{pointer}/{name}",
                "attribute-not-public",
                f"{name!r} is suppressed by the rule, or which values it can have is not declared.",
                "Leave it out of the dictionary, or declare its hierarchy and show it.",
            )


def _nodes(labels: Sequence[str], hierarchy: Hierarchy, pointer: str) -> Ints:
    found = [hierarchy.node_of(own) for own in labels]
    for row, node in enumerate(found):
        if node is None:
            raise InvalidInput.of(
                f"{pointer}/{row}",
                "unknown-value",
                f"The hierarchy has no value {labels[row]!r}.",
                "Name values of the attribute's hierarchy.",
            )
    return np.array(found, dtype=np.int32)
