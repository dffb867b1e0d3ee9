"""The divergence of :mod:`kl_divergence` for releases of any rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.domain.classes.grouping import Bools
from app.domain.classes.released import Release
from app.domain.losses.kl_boxes import BoxDivergence, BoxSides
from app.domain.losses.loss import LeafDomain
from app.domain.losses.released import withholds


class ReleaseDivergence(BoxDivergence):
    """Reconstruction from a release over some attributes.

    Parameters
    ----------
    attributes, sensitive
        Positions of the quasi-identifiers, and of the sensitive attributes, which withheld records keep.
    counted
        (n,) records that are looked at; None: all.

    Raises NotSupported if a hierarchy is no tree.
    """

    def __init__(
        self,
        release: Release,
        attributes: Sequence[int],
        sensitive: Sequence[int],
        domain: LeafDomain,
        counted: Bools | None = None,
    ) -> None:
        table = release.table
        rows = np.arange(table.n_records) if counted is None else np.flatnonzero(counted)
        sides = [
            BoxSides(
                table.hierarchies[j],
                table.codes[rows, j],
                release.codes[rows, j],
                is_withheld=withholds(release, j),
                is_sensitive=j in sensitive,
            )
            for j in (*attributes, *sensitive)
        ]
        super().__init__(sides, release.is_suppressed[rows], np.ones(len(rows), dtype=np.int64), domain)
