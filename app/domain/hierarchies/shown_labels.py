"""What published labels stand for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.domain.hierarchies.hierarchy import Hierarchy


def nodes_shown(hierarchy: Hierarchy, level: int | None) -> Mapping[str, int]:
    """The node that a published label stands for.

    Several nodes may have one label. Where a rule shows the attribute at one level it is the node that a leaf
    becomes there; where that is not known, or there are several such nodes, the highest, since a reader
    cannot tell which of them is meant.
    """
    found = {label: code for code, label in reversed(list(enumerate(hierarchy.labels)))}
    if level is None:
        return found
    shown = np.unique(hierarchy.ancestors_at(level)[hierarchy.leaves])
    return found | {hierarchy.labels[code]: code for code in shown[::-1].tolist()}
