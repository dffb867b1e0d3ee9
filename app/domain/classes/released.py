"""A table as it is released: grouped once, however many measures look at the groups."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from app.domain.arrays import Bools, Ints
from app.domain.classes.grouping import EquivalenceClasses, Grouping, equivalence_classes, known_to
from app.domain.classes.sensitive_counts import SensitiveCounts, sensitive_counts
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import TOP
from app.domain.rules.rule import Rule, apply, identity, suppressed_records
from app.domain.tables.table import Table, no_attribute

_Key = tuple[object, ...]


class Release:
    """A table under a rule (None: everything as it is); keeps its groups and counts.

    Two masks tell why a cell shows nothing: ``table.is_missing``, of what the data never had, and
    :attr:`is_suppressed`, of whose record the rule suppresses. A cell of neither is generalised to the root.
    """

    def __init__(self, table: Table, rule: Rule | None = None) -> None:
        self.table = table
        self.rule: Rule = identity(table.n_attributes) if rule is None else rule
        self._classes: dict[_Key, EquivalenceClasses] = {}
        self._counts: dict[_Key, SensitiveCounts] = {}

    @cached_property
    def codes(self) -> Ints:
        """(n, m) disclosed nodes."""
        return apply(self.rule, self.table)

    @cached_property
    def is_suppressed(self) -> Bools:
        """(n,) records that the rule suppresses (:func:`app.domain.rules.rule.suppressed_records`)."""
        return suppressed_records(self.rule, self.table, self.codes)

    def sensitive(self, attribute: str | None, pointer: str = "/measure/attribute") -> str:
        """The attribute's name; None stands for the only one of the role sensitive."""
        if attribute is not None:
            if attribute not in self.table.attributes:
                raise InvalidInput([no_attribute(pointer, attribute, self.table.attributes)])
            return attribute
        names = [name for name in self.table.attributes if name in self.table.sensitive]
        if len(names) != 1:
            raise InvalidInput.of(
                pointer,
                "sensitive-attribute-unclear",
                f"The dataset has {len(names)} attributes of the role sensitive.",
                f"Name one: {', '.join(names or self.table.attributes)}.",
            )
        return names[0]

    def other_sensitive(self, attribute: str) -> tuple[str, ...]:
        """The sensitive attributes but for this one, in the schema's order."""
        return tuple(n for n in self.table.attributes if n in self.table.sensitive and n != attribute)

    def classes(self, grouping: Grouping, also: tuple[str, ...] = ()) -> EquivalenceClasses:
        """The classes, split further by the attributes ``also``."""
        known_to(self.table, grouping)  # refuses what is not kept for whoever asked before
        # Where no record is suppressed, what becomes of those that are is no question.
        suppressed = grouping.suppressed if self.is_suppressed.any() else "excluded"
        folds = grouping.folds and bool(also)
        key = (grouping.quasi_identifiers, grouping.missing, suppressed, also, folds)
        if key not in self._classes:
            positions, codes = tuple(map(self.table.position, also)), self.codes
            if folds:
                codes = codes.copy(order="F")
                for j in positions:
                    codes[:, j] = self.table.hierarchies[j].as_read[codes[:, j]]
            self._classes[key] = equivalence_classes(
                self.table, codes, self.is_suppressed, grouping, positions
            )
        return self._classes[key]

    def counts(
        self,
        grouping: Grouping,
        attribute: str | None = None,
        also: tuple[str, ...] = (),
        *,
        weighed: bool = False,
    ) -> SensitiveCounts:
        """How often the values of a sensitive attribute occur in the classes that ``classes`` gives.

        ``weighed``: where persons are counted, each of whom weighs one in a class.

        Raises InvalidInput for an attribute that the table does not have, or that classes are grouped by.
        """
        name = self.sensitive(attribute)
        j = self.table.position(name)
        classes = self.classes(grouping, also)
        if j in classes.attributes:
            raise InvalidInput.of(
                "/measure/attribute",
                "sensitive-and-quasi-identifier",
                f"The attribute {name!r} is among the quasi-identifiers of the classes.",
                "Leave it out of quasi_identifiers, or choose another attribute.",
            )
        key = (
            grouping.quasi_identifiers,
            grouping.missing,
            grouping.suppressed,
            also,
            name,
            grouping.missing_sensitive,
            grouping.folds,
            weighed,
        )
        if key not in self._counts:
            shown, reference = self.values(grouping, name)
            self._counts[key] = sensitive_counts(
                classes, shown, reference, self.table.sizes[j], self.table.persons, weighed=weighed
            )
        return self._counts[key]

    def values(self, grouping: Grouping, attribute: str) -> tuple[Ints, Ints]:
        """(n,) node of a sensitive attribute that each record shows, and the same for the whole table.

        The first is −1 for records without a value: what is suppressed of a suppressed record is none, though
        its record may be judged. Both are −1 for a missing value that is left out.
        """
        j = self.table.position(attribute)
        shown, reference = self.codes[:, j], self._reference(j)
        shown = np.where(self.is_suppressed & (shown != reference), -1, shown)
        if grouping.missing_sensitive == "excluded":
            # A column that the rule suppresses as a whole is a value; one missing in the original is none.
            missing = self.table.is_missing(j)
            shown, reference = np.where(missing, -1, shown), np.where(missing, -1, reference)
        if grouping.folds:
            # Node −1, a value left out, reads the last place.
            becomes = np.append(self.table.hierarchies[j].as_read, np.int32(-1))
            shown, reference = becomes[shown], becomes[reference]
        return shown, reference

    def _reference(self, j: int) -> Ints:
        """(n,) what each record shows of an attribute; for suppressed ones what it would as the others do."""
        shown, original = self.codes[:, j], self.table.codes[:, j]
        suppressed = self.is_suppressed
        if not suppressed.any():
            return shown
        kept = ~suppressed
        hierarchy = self.table.hierarchies[j]
        becomes = np.arange(hierarchy.n_nodes, dtype=np.int32)
        # A value that only suppressed records have is raised to what the rule raises others below that to.
        is_seen, is_of_suppressed, is_target = np.zeros((3, hierarchy.n_nodes), dtype=bool)
        is_seen[original[kept]] = True
        is_of_suppressed[original[suppressed]] = True
        is_target[shown[kept & (shown != original)]] = True
        is_seen[TOP] = True
        unseen = np.flatnonzero(is_of_suppressed & ~is_seen).astype(np.int32)
        is_raised = np.zeros(len(unseen), dtype=bool)
        is_ambiguous = False
        for node in np.flatnonzero(is_target).tolist():
            below = hierarchy.are_above(np.full(len(unseen), node, dtype=np.int32), unseen)
            is_ambiguous |= bool((below & is_raised).any())
            is_raised |= below
            becomes[unseen[below]] = node
        becomes[original[kept]] = shown[kept]
        if is_ambiguous or (becomes[original[kept]] != shown[kept]).any():
            raise NotSupported(
                f"The rule does not show the values of {self.table.attributes[j]!r} alike for all "
                "records, and suppresses some: there is no distribution to compare the classes with.",
                "Use a rule that treats the sensitive attribute alike for all records.",
            )
        return np.where(suppressed, becomes[original], shown)
