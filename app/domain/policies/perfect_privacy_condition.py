"""A requirement that views are perfectly private with respect to secrets.

Whether the queries make sense is told by whatever reads them; here they are texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from annotated_types import Len

from app.domain.catalogue.catalogue_types import ADDED_LATER, Example, QueryLanguage, SqlDialect
from app.domain.policies.condition import Condition, Prose, Word
from app.domain.policies.findings import Checked
from app.domain.policies.reasons import is_reason

MOST_SECRETS: Final = 50
MOST_CHARACTERS_OF_A_SECRET: Final = 20_000


@dataclass(frozen=True)
class Secret:
    """A query whose answer is to stay secret."""

    id: Annotated[Word, Example("cancer-patients")]
    """Its name."""
    query: Annotated[
        str,
        Len(1, MOST_CHARACTERS_OF_A_SECRET),
        Example("names(n) :- patient(p, n), diagnosis(p, 'cancer', m, w)."),
    ]
    """As `POST view-checks` takes it. Whoever reads a verdict reads it: name no person."""
    reason: Annotated[Prose, Example("Nobody outside the ward may learn who has cancer.")]
    """Why the answer is secret, and from whom."""


@dataclass(frozen=True)
class PerfectPrivacyCondition(Condition):
    """Every view is perfectly private with respect to every secret."""

    kind: ClassVar[str] = "perfect_privacy"
    is_of_views: ClassVar[bool] = True
    of_whole = "Every view is judged as a whole."
    secrets: Annotated[tuple[Secret, ...], Len(1, MOST_SECRETS)]
    """What is to stay secret."""
    language: Annotated[QueryLanguage, Example("datalog")] = "datalog"
    """The language of the secrets, and of the views that are judged."""
    dialect: Annotated[SqlDialect, Example("postgres")] = "postgres"
    """The dialect of queries and tables in SQL."""
    ignore_foreign_keys: bool = False
    """Decide as if readers did not know that referenced rows exist."""
    keys: Annotated[Literal["considered", "ignored"], ADDED_LATER] = "considered"
    """`ignored` decides with the keys left out: views are then private if keys are unknown to readers."""
    keys_reason: Annotated[Prose | None, Example("Readers see no identifiers.")] = None
    """Why keys are ignored: words, which `ignored` needs."""

    @property
    def quantity(self) -> str:
        """Pairs, and how keys are taken."""
        keys = "if keys are unknown to readers" if self.keys == "ignored" else "with the keys considered"
        return f"pairs of a secret and a view that are not private {keys}"

    @property
    def fields(self) -> dict[str, Any]:
        """What it asks, every secret by its id."""
        found = super().fields
        for own in found.pop("secrets"):
            found |= {f"secrets.{own.id}": own.query, f"secrets.{own.id}.reason": own.reason}
        return found

    def check(self, checked: Checked) -> None:
        """Note secrets that are named alike or without a reason, and keys that are ignored without one."""
        if self.keys == "ignored" and not is_reason(self.keys_reason or ""):
            checked.found.error(
                f"{checked.at}/keys_reason", "missing-reason", "Keys are ignored without a reason.",
                "Say why readers do not know that no two rows share a key, or leave keys out.",
            )  # fmt: skip
        if self.keys == "considered" and self.keys_reason is not None:
            checked.found.error(
                f"{checked.at}/keys_reason", "needless-reason", "A reason is given, and keys are considered.",
                "Leave the reason out, or ignore keys.",
            )  # fmt: skip
        names = [own.id for own in self.secrets]
        for number, own in enumerate(self.secrets):
            at = f"{checked.at}/secrets/{number}"
            if own.id in names[:number]:
                checked.found.error(
                    f"{at}/id",
                    "duplicate",
                    f"There is another {own.id!r} before it.",
                    "Give every one its own.",
                )
            for name, is_there in (("id", bool(own.id.strip())), ("reason", is_reason(own.reason))):
                if not is_there:
                    checked.found.error(
                        f"{at}/{name}", f"missing-{name}", f"The {name} is empty.",
                        "Say why the answer is secret, and from whom.",
                    )  # fmt: skip

    def as_strict_as(self, other: Self) -> bool:
        """Whether it is plain that views which meet it meet the other one.

        They do if every secret of the other is one here, in the same words, and foreign keys still count.
        Keys left out are another question, which is neither stricter nor looser: a key can also make a view
        private.
        """
        if (self.language, self.dialect, self.keys) != (other.language, other.dialect, other.keys):
            return False
        if self.ignore_foreign_keys and not other.ignore_foreign_keys:
            return False
        kept = {own.query for own in self.secrets}
        return all(own.query in kept for own in other.secrets)
