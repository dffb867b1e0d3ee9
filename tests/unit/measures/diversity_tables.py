"""The inpatient tables of the dissertation (test vector S1), and what measures them."""

import numpy as np

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from app.samples import published_tables

HD, VI, C = "heart disease", "viral infection", "cancer"
ROWS = published_tables.table("inpatients").rows


def hierarchy(rows):
    return Hierarchy.from_rows([list(row) for row in rows])


def flat(values):
    return Hierarchy.from_parents({value: [None] for value in sorted(set(values))})


def zip_of_last_digits():
    """Level n masks n trailing digits (S2)."""
    return hierarchy([z[: 5 - n] + "*" * n for n in range(6)] for z in sorted({row[0] for row in ROWS}))


def age_of_two():
    return hierarchy((age, "≤40" if int(age) <= 40 else ">40") for age in sorted({row[1] for row in ROWS}))


def age_of_three():
    decades = {"2": "<30", "3": "30-39", "4": "≥40", "5": "≥40"}
    return hierarchy((age, decades[age[0]]) for age in sorted({row[1] for row in ROWS}))


def zip_of_towns():
    return hierarchy((z, z[:3] + "**" if z[:3] == "130" else "1485*") for z in sorted({r[0] for r in ROWS}))


def table(names, hierarchies, rows, sensitive):
    columns = [h.encode([row[j] for row in rows])[0] for j, h in enumerate(hierarchies)]
    return Table(tuple(names), tuple(hierarchies), np.stack(columns, axis=1), sensitive=frozenset(sensitive))


def inpatients(zips, ages):
    names = ("zip", "age", "nationality", "condition")
    hierarchies = (zips, ages, flat(row[2] for row in ROWS), flat(row[3] for row in ROWS))
    return table(names, hierarchies, ROWS, {"condition"})


def release_1():
    """Table 3.2: 4-anonymous, one class of cancer alone."""
    found = inpatients(zip_of_towns(), age_of_three())
    return found, TableRule((1, 1, 1, 0))


def release_2():
    """Table 3.4: 3-diverse; the node (1,1,1) of S2."""
    found = inpatients(zip_of_last_digits(), age_of_two())
    return found, TableRule((1, 1, 1, 0))


def one_class(counts):
    """A table of one class with these counts of values, its only quasi-identifier the same for all."""
    values = [value for value, n in counts.items() for _ in range(n)]
    rows = [("everywhere", value) for value in values]
    return table(("place", "value"), (flat(["everywhere"]), flat(counts)), rows, {"value"})


def context_of(found, rule=None):
    utility = build_utility(found, "depth_sum")
    return MeasureContext(found, rule, None, None, None, utility, MODEL_I, "zero")


def measured(measure, found, rule=None, **parameters):
    context, asked = context_of(found, rule), measure.parameters(**parameters)
    assert measure.supports(context, asked) is None
    ticks = []
    result = measure.compute(context, asked, ticks.append)
    assert ticks[-1] == measure.cost(context, asked).units
    return result


OCCUPATIONS = (
    *(6020, 6008, 5984, 5540, 5408, 4808, 2970, 2316, 2046, 1480, 1420, 976, 232, 14),
)  # fmt: skip
MULTI = [("s1", "v1"), ("s1", "v2"), ("s2", "v3"), ("s3", "v3")]


def two_attributes():
    columns = (flat(["x"]), flat(s for s, _ in MULTI), flat(v for _, v in MULTI))
    return table(("q", "S", "V"), columns, [("x", *row) for row in MULTI], {"S", "V"})


INPATIENTS = table(
    ("zip", "age", "nationality", "condition"),
    (
        zip_of_last_digits(),
        age_of_two(),
        flat(row[2] for row in ROWS),
        flat(row[3] for row in ROWS),
    ),
    ROWS,
    ("condition",),
)
