"""What to ask of the founding works' small tables to come to the numbers printed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from app.domain.models.beta_likeness import BetaLikeness
from app.samples.published_tables import HOSPITAL, PublishedName

Body = dict[str, Any]

_KNOWING: Final[Body] = {"kind": "background_knowledge_attack", "negations": 0}
_DIVERSE: Final[Body] = {"kind": "l_diversity", "l": 3}
_INPATIENTS: Final[tuple[tuple[str, Body, str], ...]] = (
    ("3.2", {"kind": "linking_attack"}, "4-anonymous: each of two known persons may be any of four"),
    ("3.2", _DIVERSE, "distinct ℓ is 1: one class has cancer only"),
    ("3.2", _KNOWING | {"target": 9}, "the American of 31 has cancer with a probability of 1"),
    (
        "3.2",
        _KNOWING | {"target": 3, "not_values": ["heart disease"]},
        "the Japanese of 21 has a viral infection",
    ),
    ("3.4", _DIVERSE, "distinct ℓ is 3, entropy ℓ 2.828, printed as 2.8"),
    ("3.4", _KNOWING | {"target": 9}, "the American of 31 has cancer with a probability of 1/2"),
)


def published_questions(prefix: str, tables: Sequence[PublishedName]) -> Iterator[tuple[str, Body, str]]:
    """Of each table the kinds of resource to create, the bodies, and what the answers say."""
    for table in dict.fromkeys(tables):
        name = f"{prefix}-{table}"
        body: Body = {"dataset": name}
        known = {"dictionary": f"{name}-persons"}
        if table == "inpatients":
            for number, measure, finds in _INPATIENTS:
                asked = body | known | {"rule": f"{name}-table-{number}", "measure": measure}
                yield "measurement", asked, f"Machanavajjhala (2008), table {number}: {finds}"
        elif table == "likeness":
            like, loss = {"kind": BetaLikeness.kind, "beta": 2}, {"kind": "ail", "numeric": ["x", "y"]}
            objective = {"kind": "min_loss", "privacy": [like], "loss": loss}
            body |= {"name": f"{name}-burel", "objective": objective, "scope": "record_level"}
            finds = "3 buckets, 3 classes; the places chosen here make β 11/8"
            asked = body | {"solver": {"kind": "burel", "start": "first"}}
            yield "optimisation", asked, f"Cao and Karras (2012), example 2: {finds}"
        elif table == "teachers":
            body |= {"measure": {"kind": "micro_reconstruction", "p": 4 / 9}}
            finds = (
                "1: by one record breast cancer is 50 % likely (p is 4/9), by the group certain ± 1.125 / √25"
            )
            yield "measurement", body, f"Wang et al. (2012), example {finds}"
            finds = "3: a male teacher has his own group; all teachers, women and everybody are aggregates"
            yield "measurement", body | known, f"Wang et al. (2012), example {finds}"
        else:
            views = [{"id": own.replace(" ", "-"), "query": query} for own, query, _ in HOSPITAL["views"]]
            secret = {"id": "cancer-patients", "query": HOSPITAL["secret"]}
            asked = {"relational_schema": name, "secrets": [secret], "views": views}
            finds = "of six views only the ids of hepatitis patients are private"
            yield "view_check", asked, f"Machanavajjhala (2008), example 2.1: {finds}"
