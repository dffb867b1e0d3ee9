"""Draws the pictures of docs/measures.md about reconstruction: ``python -m tests.reconstruction_pictures``.

Both are computed by the product: what is true beside what an upper bound says, and which groups pass.
The groups are those of the stand-in census of the experiments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from app.charts.curves import Curve, draw_curves
from app.charts.drawing import Caption
from app.charts.series import Series, draw_series
from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction import Estimates, UniformReplacement
from app.domain.classes.reconstruction_groups import GroupsUnderTest, ReconstructionQuestion
from app.domain.classes.reconstruction_tails import exact_tails
from app.experiments.stand_in_census import EDUCATION, base_table, stand_in

PICTURES = Path(__file__).parents[1] / "docs" / "reconstruction"
VALUES, EPSILON, DELTA = 14, 0.3, 0.3
"""m, ε and δ of the first picture."""
WIDE, RECORDS, LEAST = 0.5, 300_000, 10
"""ε of the second one, records of the census, and the least group that is shown."""

RETENTIONS = tuple(round(0.1 * i, 1) for i in range(1, 10))
SHARES = tuple(round(0.1 * i, 1) for i in range(1, 11))
STYLE = (
    "svg{background:#fff}text{font:14px sans-serif;fill:#14202c}.axis,.grid{stroke:#c3ccd5;fill:none}"
    ".curve{fill:none;stroke:#3b6ea8;stroke-width:2}.curve-1{stroke:#b3541e;stroke-dasharray:6 4}"
    ".curve-2{stroke:#3f7d4e;stroke-dasharray:2 3}.point{fill:#14202c}"
    ".halo{paint-order:stroke;stroke:#fff;stroke-width:4px}"
)


def pictures() -> Iterator[tuple[str, str]]:
    """Names of files and what stands in them."""
    yield "tails.svg", _alone(_tails())
    yield "sizes.svg", _sizes()


def _tails() -> str:
    """By p, the bound and the probabilities of the largest group that passes with half of it of one value."""
    bound, low, high = [], [], []
    for p in RETENTIONS:
        replacement = UniformReplacement(p, VALUES)
        largest = _estimates(np.array([1]), np.array([2]), replacement).greatest_sizes(
            "chernoff_simple", DELTA
        )
        amounts, sizes = np.array([int(largest[0]) // 2]), np.array([int(largest[0])])
        tails = exact_tails(amounts, sizes, replacement, EPSILON)
        bound.append(float(np.exp(_estimates(amounts, sizes, replacement).log_low("chernoff_simple")[0])))
        low.append(float(tails.low[0]))
        high.append(float(tails.high[0]))
    caption = Caption(
        "tails",
        "Upper bound and probability of a bad estimate",
        "Of the largest group that passes, by the probability that a value is kept.",
    )
    curves = [
        Curve("upper bound", RETENTIONS, tuple(bound)),
        Curve("too low", RETENTIONS, tuple(low)),
        Curve("too high", RETENTIONS, tuple(high)),
    ]
    return draw_curves(caption, curves, "Probability p that a value is kept", "Probability of a bad estimate")


def _sizes() -> str:
    """Groups of the stand-in census by size and share, below and above the largest that pass."""
    table = base_table(stand_in(RECORDS), EDUCATION, np.arange(RECORDS, dtype=np.int32))
    counts = table.counts
    tested = GroupsUnderTest(counts, ReconstructionQuestion(UniformReplacement(0.5, VALUES), WIDE, DELTA))
    failing, shares = tested.failing("chernoff_simple"), tested.tops / counts.sizes
    is_large = counts.sizes >= LEAST
    limits = [Series(f"largest that passes, p = {p:g}", SHARES, tuple(_largest(p))) for p in (0.1, 0.5)]
    groups = [
        Series(f"{name} for p = 0.5", *_some_of_each(shares[own], counts.sizes[own]), "points")
        for name, own in (
            (f"{int((~failing).sum()):,} groups pass", is_large & ~failing),
            (f"{int(failing.sum()):,} fail", is_large & failing),
        )
    ]
    return draw_series(
        "Groups that pass, and groups that fail",
        "Share of the most frequent value",
        "Records in a group",
        [*limits, *groups],
        f"Education in {RECORDS:,} records of the stand-in census, m = {VALUES}, ε = {WIDE}, δ = {DELTA}; a "
        f"point is one group of those of about its size and share, of {LEAST} records or more",
    )


def _some_of_each(shares: Floats, sizes: Longs) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The first group of each twentieth of shares and each tenth part more of a size."""
    cells = np.stack((np.floor(20 * shares), np.floor(np.log(sizes) / np.log(1.1))))
    first = np.unique(cells, axis=1, return_index=True)[1]
    return tuple(shares[first].tolist()), tuple(sizes[first].astype(float).tolist())


def _largest(p: float) -> Iterator[float]:
    for share in SHARES:
        amounts, sizes = np.array([round(share * 100)]), np.array([100])
        own = Estimates(amounts, sizes, UniformReplacement(p, VALUES), WIDE)
        yield float(own.greatest_sizes("chernoff_simple", DELTA)[0])


def _estimates(amounts: np.ndarray, sizes: np.ndarray, replacement: UniformReplacement) -> Estimates:
    return Estimates(amounts, sizes, replacement, EPSILON)


def _alone(picture: str) -> str:
    """A picture of a page as one that stands alone."""
    opening, rest = picture.split("\n", 1)
    opening = opening.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    return f"{opening}\n<style>{STYLE}</style>\n{rest}\n"


def main() -> None:
    """Write both pictures."""
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures():
        (PICTURES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
