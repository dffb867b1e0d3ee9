"""Small tables given by the counts of sensitive values in each class."""

from app.domain.hierarchies.hierarchy import Hierarchy
from tests.unit.measures.diversity_tables import flat, table


def of_classes(classes, values, nested=None):
    """One class per vector of counts, named c0, c1, …; rows in their order, values in theirs.

    ``nested`` are the parents of a hierarchy of the values; None: they have none.
    """
    rows = [
        (f"c{g}", value)
        for g, vector in enumerate(classes)
        for value, n in zip(values, vector, strict=True)
        for _ in range(n)
    ]
    hierarchy = Hierarchy.from_parents(nested or {value: [None] for value in values})
    return table(("place", "condition"), (flat(row[0] for row in rows), hierarchy), rows, {"condition"})
