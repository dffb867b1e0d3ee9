"""The relation that the records of a stored dataset are rows of.

Only what is declared of the dataset is used: no value of a cell gets into the schema. A domain is never
smaller than what the dataset may hold, for that could make a disclosure private; where it is smaller than
what the database behind it may hold, the warnings say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.hierarchies.cell_formats import spelled_otherwise
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.views.relational_schema import Domain, RelationDefinition, built
from app.services.datasets.dataset_schema import (
    AttributeDeclaration,
    AttributeType,
    OnUnknown,
    Role,
    declarations_of,
)
from app.services.resources import Stored
from app.services.views.column_types import ColumnType
from app.services.views.reading import ReadSchema

MOST_LABELS: Final = 1_000
"""A hierarchy of more labels leaves its column any text."""
_NOT_OF_A_NAME: Final = re.compile(r"\W")
_NAMED: Final = 10
"""So many columns are named in a warning."""


@dataclass(frozen=True)
class DatasetSource:
    """A dataset, and the hierarchies of its columns."""

    dataset: Stored
    hierarchies: Mapping[str, Hierarchy]


def schema_of_datasets(sources: Sequence[DatasetSource]) -> ReadSchema:
    """One relation for each dataset; InvalidInput if two of them would have one name."""
    faults: list[Fault] = []
    found: dict[str, _Relation] = {}
    for number, source in enumerate(sources):
        relation = _Relation(source)
        if relation.name in found:
            faults.append(
                Fault(
                    f"/datasets/{number}",
                    "duplicate-relation",
                    f"Two datasets would be the relation {relation.name!r}.",
                    "List each dataset once, and give datasets names that differ in letters and digits.",
                )
            )
        found[relation.name] = relation
    refuse(faults)
    definitions = {name: own.definition for name, own in found.items()}
    try:
        schema = built(definitions)
    except InvalidInput as error:
        raise InvalidInput([replace(own, pointer="/datasets") for own in error.faults]) from None
    warnings = [warning for own in found.values() for warning in own.warnings]
    return ReadSchema(
        schema, {name: own.types for name, own in found.items()}, {}, tuple(warnings), definitions
    )


class _Relation:
    """The relation of one dataset, as its columns are read one after the other."""

    def __init__(self, source: DatasetSource) -> None:
        self._source = source
        self._called = source.dataset.name
        name = _NOT_OF_A_NAME.sub("_", self._called)
        self.name = f"_{name}" if name[0].isdigit() else name
        self.warnings: list[str] = []
        self._domains: dict[str, Domain] = {}
        self._said = {own["name"]: own for own in source.dataset.summary["attributes"]}
        types: list[ColumnType] = []
        if self.name != self._called:
            self.warnings.append(f"The dataset {self._called!r} is the relation {self.name}.")
        declarations = declarations_of(source.dataset)
        for declaration in declarations:
            self._domains[declaration.name], family = self._column(declaration)
            types.append(family)
        self.definition = self._definition(declarations)
        ranges = built({self.name: self.definition}).relations[self.name].ranges
        self.types = tuple(
            replace(own, values=range_.values) for own, range_ in zip(types, ranges, strict=True)
        )

    def _column(self, declared: AttributeDeclaration) -> tuple[Domain, ColumnType]:
        """What the column may hold, and how SQL compares it."""
        if declared.role in (Role.IDENTIFIER, Role.PERSON):
            # Names of records and persons are never read: 0012 and 12 are two of them, whatever their type.
            is_text = declared.type in (AttributeType.CATEGORICAL, AttributeType.TEXT)
            return "any", ColumnType("text" if is_text else "untyped")
        match declared.type:
            case AttributeType.NUMBER:
                return "number", ColumnType("number")
            case AttributeType.DATE:
                return "integer", ColumnType("date")
        return self._texts(declared), ColumnType("text")

    def _texts(self, declared: AttributeDeclaration) -> Domain:
        """All labels of the hierarchy, where no cell can be anything else; any text otherwise."""
        hierarchy = self._source.hierarchies.get(declared.name)
        if hierarchy is None or hierarchy.n_nodes > MOST_LABELS:
            return "any"
        column = f"{self.name}.{declared.name}"
        takes_others = (
            declared.on_unknown is not OnUnknown.REFUSE
            or declared.map
            or self._said[declared.name]["unknown"]
        )
        # 17100.0 is taken for the label 17100, and the two are different texts.
        if takes_others or any(spelled_otherwise(label) for label in hierarchy.labels):
            self.warnings.append(
                f"{column} may hold any text: its dataset takes values that its hierarchy does not have."
            )
            return "any"
        self.warnings.append(
            f"{column} is taken to hold nothing but the {hierarchy.n_nodes} labels of its hierarchy. If the "
            "table can hold another value, a view that is called private may disclose something: declare the "
            "relation without this domain then."
        )
        return tuple(hierarchy.labels)

    def _definition(self, declarations: Sequence[AttributeDeclaration]) -> RelationDefinition:
        attributes = [own.name for own in declarations]
        identifier = next((own.name for own in declarations if own.role is Role.IDENTIFIER), None)
        nullable = [name for name in attributes if self._said[name]["missing"] or self._said[name]["unknown"]]
        keys = [] if identifier is None else [[identifier]]
        if keys:
            self.warnings.append(
                f"{self.name}.{identifier} is taken for a key, as no two stored records share one. "
                "Keys change verdicts in both directions: if the table can hold two such records, declare "
                "the relation without the key."
            )
        else:
            self.warnings.append(
                f"{self.name} has no key, so that a row could stand in it twice; it is taken for a set."
            )
        never = [name for name in attributes if name not in nullable and name != identifier]
        if never:
            self.warnings.append(
                f"Taken to be never NULL in {self.name}, as no stored record lacks a value there: "
                f"{_listed(never)}. If one can, a view that is called private may disclose something."
            )
        return RelationDefinition(attributes, self._domains, keys, (), nullable)


def _listed(names: Iterable[str]) -> str:
    all_names = list(names)
    more = f" and {len(all_names) - _NAMED} more columns" if len(all_names) > _NAMED else ""
    return ", ".join(all_names[:_NAMED]) + more
