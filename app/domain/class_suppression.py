"""Table-level rules that withhold the records of small classes altogether (field models 1, 2).

A class is what records share that are disclosed alike. Records of a class below k are disclosed as ⊥ in every
attribute, so that every other record hides among at least k.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.domain.distinct import distinct_rows
from app.domain.hierarchies import TOP
from app.domain.rules import CellRule, TableRule, apply_to_codes
from app.domain.tables import Table


def suppress_classes(table: Table, rule: TableRule, below: int) -> tuple[CellRule, npt.NDArray[np.bool_]]:
    """The rule with the classes of fewer than ``below`` records withheld, and whose these records are (n,).

    Classes are counted in records, whatever their weights, ⊥ equal to ⊥. They are those of the rule itself:
    nobody joins a class by being withheld.
    """
    reduced = table.reduced
    disclosed = apply_to_codes(rule, table, reduced.codes).copy(order="F")
    columns = [disclosed[:, j] for j in range(table.n_attributes)]
    classes = distinct_rows(columns, table.sizes, reduced.size)
    records = np.bincount(classes.inverse, reduced.counts, minlength=classes.size)
    withheld = (records < below)[classes.inverse]
    disclosed[withheld] = TOP
    return CellRule(np.asfortranarray(disclosed[reduced.inverse])), withheld[reduced.inverse]
