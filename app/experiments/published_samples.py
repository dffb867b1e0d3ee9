"""D3 and D4: what the constants of Fouad (2012), section 6.4, promise, and what is so."""

from __future__ import annotations

import math
from typing import Final

from app.domain.mechanisms.published_constants import PublishedQuestion, published_constants
from app.experiments.release_laws import OneAttribute, binomial
from app.experiments.report import Effort, Report, ResultTable, exact

ASKED: Final = PublishedQuestion(0.05, 1e-6, 0.04, 2, 2.0, 6.0)
"""ε, δ, s, h^k, λ/φ_l and η of both counterexamples."""
RECORDS: Final = 4000
UTILITY_FACTOR: Final = 6
"""ℓ: at most a share 1 − 3/ℓ of the optimum is claimed."""


def exchange_counterexample(more: int = 110) -> tuple[int, float, float]:
    """A leaf of so many of 4,000 records that stays frequent with one less.

    From how many published copies on their ratio is above e^ε, how often that is, and the δ needed.
    """
    model = OneAttribute(ASKED.rate, published_constants(ASKED).exponent)
    laws = [
        binomial(count, ASKED.rate * model.leaf_share(count, records))
        for count, records in ((more, RECORDS), (more - 1, RECORDS - 1))
    ]
    factor = math.exp(ASKED.epsilon)
    first = next(k for k in range(more) if laws[0][k] > factor * laws[1][k] and k > more * ASKED.rate * 0.4)
    excess = sum(max(0.0, p - factor * q) for p, q in zip(laws[0][:-1], laws[1], strict=True)) + laws[0][-1]
    return first, float(laws[0][first:].sum()), float(excess)


def frequent_set_counterexample(count: int = 120) -> tuple[float, float, float]:
    """A leaf that θ makes frequent only with the record that is removed.

    How often it is frequent, and how often it is published, with that record; without it never.
    """
    least_share = (count - 1) / (RECORDS - 1)
    model = OneAttribute(ASKED.rate, published_constants(ASKED).exponent)
    frequent = (count / RECORDS - least_share) / (1 - least_share)
    shown = 1.0 - (1.0 - ASKED.rate * model.leaf_share(count, RECORDS)) ** count
    return least_share, frequent, frequent * shown


def counterexamples(effort: Effort) -> Report:
    """Two pairs of tables within all published conditions."""
    found = published_constants(ASKED)
    first, chance, excess = exchange_counterexample()
    least_share, frequent, published = frequent_set_counterexample()
    said = ASKED.lattice / RECORDS**2
    return Report(
        id="D3",
        title="The claimed δ of a published mechanism, and the true one",
        setting="4,000 records of one attribute with two leaves; ε = 0.05, δ = 10⁻⁶, β = 0.96; exact laws",
        tables=(
            ResultTable(
                "δ beside ε = 0.05",
                ("where it fails", "claimed", "needed at least", "how"),
                (
                    (
                        "an identity that counts sampled sets several times",
                        ASKED.delta,
                        excess,
                        f"{first} or more copies of a leaf of 110 records, with probability {chance:.6e}",
                    ),
                    (
                        "the frequent set depends on the data",
                        ASKED.delta + said,
                        published,
                        "a leaf of 120 records is published, which one record less makes impossible",
                    ),
                ),
            ),
        ),
        pictures=(),
        claims=(
            exact(
                "Both tables are within the published conditions",
                found.least_crowd < 109 and found.size_needed < RECORDS - 1 and least_share < 1,
                f"t_min = {found.least_crowd:.6f}, size {found.size_needed:.2f}",
            ),
            exact(
                "With a fixed frequent set the claimed δ is too small",
                excess > ASKED.delta and chance > ASKED.delta,
                f"{excess:.6e} from {first} copies on",
            ),
            exact(
                "A frequent set that depends on the data needs a δ of the order of 1/m, and no ε helps",
                published > 100 * (ASKED.delta + said) and math.isclose(frequent, 1 / RECORDS, rel_tol=0.01),
                f"{published:.6e}, and 0 without the record",
            ),
        ),
    )


def conflict(k: int, h: int, epsilon: float = 1.0) -> tuple[float, float, float, float]:
    """The exponent range that the claim on utility needs, and with what sampling rate it is had.

    Range, greatest rate, share of the optimum that is then claimed, least records below what is frequent.
    """
    needed = UTILITY_FACTOR * k * math.log(h * UTILITY_FACTOR)
    below, above = 0.0, -math.expm1(-epsilon)
    for _ in range(200):
        rate = (below + above) / 2
        reach = (epsilon + math.log1p(-rate)) / (6 * rate)
        below, above = (rate, above) if reach >= needed else (below, rate)
    crowd = (1 - below) ** 2 * h**k * math.exp(needed) / below
    return needed, below, below * (1 - 3 / UTILITY_FACTOR), crowd


def utility_against_privacy(effort: Effort) -> Report:
    """Why the two parts of the published theorem do not hold together."""
    rows = tuple((k, h, *conflict(k, h)) for k, h in ((1, 2), (2, 3), (4, 4)))
    return Report(
        id="D4",
        title="Why the published claims on utility and on privacy cannot be had together",
        setting="ε = 1; half of the optimum is claimed of the records that are sampled",
        tables=(
            ResultTable(
                "What the claim on utility needs",
                ("k", "h", "exponent range", "greatest sampling rate", "share of the optimum", "records"),
                rows,
            ),
        ),
        pictures=(),
        claims=(
            exact(
                "For two attributes and more no table that exists has so many records",
                all(crowd > 1e18 for k, *_, crowd in rows if k > 1),
                ", ".join(f"{crowd:.3g}" for *_, crowd in rows),
            ),
            exact(
                "At most about one record in ninety may be sampled",
                all(rate < 1 / 90 for _, _, _, rate, _, _ in rows),
                ", ".join(f"{rate:.6f}" for _, _, _, rate, _, _ in rows),
            ),
        ),
    )
