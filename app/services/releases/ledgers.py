"""The ledger of a table: what each release of it spends, and which leave the sum without meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Annotated

from annotated_types import MaxLen

from app.domain.catalogue.catalogue_types import Example, Hypothesis
from app.domain.gates.spending_kept import TableSpending
from app.domain.mechanisms.guarantee_models import BOUNDED_PRIVACY
from app.domain.mechanisms.privacy_loss import PrivacyLoss, decimal_text
from app.domain.mechanisms.several_draws import ALL_DRAWS_COUNTED
from app.domain.mechanisms.spending import nothing_left, sentence_on
from app.services.named import all_resources
from app.services.ports import UnitOfWork
from app.services.releases.budgets import Account, Budget, account_of
from app.services.releases.draw_subjects import Tables, subject_of, subjects_beside, tables_of
from app.services.releases.mechanism_manifests import DRAWN_ONCE, NOT_COMPARED, hides_records, is_drawn
from app.services.releases.people_in_both import NO_IDENTIFIER, PeopleInBoth, names_people
from app.services.releases.same_tables import contents_like
from app.services.releases.within_budget import least_limits, sums_told
from app.services.resources import JsonObject, Kind, Stored


@dataclass(frozen=True)
class Void:
    """A release of the table beside which the sum promises nothing."""

    release: Annotated[str | None, MaxLen(100), Example("residents-perturbed")]
    """Its name; null if it is deleted."""
    reason: Annotated[str, MaxLen(1_000)]
    """Why it has no share that could be added."""


@dataclass(frozen=True)
class Ledger:
    """All that was released of a table, and of others with some of its people, with what it spends.

    ``budgets`` are all that the table has, what allows least first: there are several only where contents
    turned out to be the same table later. ``datasets`` are those that are stored of the table, ``promised``
    the guarantees of its differentially private releases that are. ``unknown`` says why more may have been
    released of its people; empty if that is known.
    """

    budgets: tuple[Budget, ...]
    datasets: tuple[str, ...]
    account: Account
    voided_by: tuple[Void, ...]
    promised: tuple[JsonObject, ...] = ()
    unknown: str = ""

    @property
    def completeness(self) -> Hypothesis:
        """Whether the sums are known to be of all that was released of these people."""
        return Hypothesis(
            ALL_DRAWS_COUNTED,
            "assumed" if self.unknown else "yes",
            "The sums are of the table and of other deliveries that have some of its people. "
            + (self.unknown or "All that was given out before was compared with it by identifiers."),
        )

    @property
    def least_records(self) -> int | None:
        """The greatest number of records that is declared for any of the releases, deleted ones too."""
        declared = (own.least_records for own in self.account.entries)
        return max((own for own in declared if own is not None), default=None)

    @property
    def stands(self) -> bool:
        """Whether the sums promise anything."""
        held, number = self.account.held, len(self.account.entries)
        return not self.voided_by and not nothing_left(held.delta, number, self.least_records)

    @property
    def sums(self) -> dict[str, dict[str, str | None]]:
        """Limits, and what is spent, reserved and left of them, as exact decimals."""
        return sums_told(self.account, least_limits(self.budgets))

    @property
    def in_short(self) -> JsonObject:
        """What the manifest of a release of the table tells of it."""
        names = [own.name for own in self.budgets]
        limited = "No budget is set for this table: nothing limits what its releases add up to."
        if len(names) == 1:
            limited = f"The budget {names[0]!r} of the table limits what its releases add up to."
        elif names:
            listed = ", ".join(map(repr, names))
            limited = (
                f"What the releases of the table add up to is to be within each of its budgets {listed}."
            )
        name = names[0] if names else None
        told = {"sentence": f"{limited} {self.sentence}", "hypotheses": [asdict(self.completeness)]}
        return {"name": name, **self.sums, **told}

    @property
    def releases_told(self) -> list[dict[str, object]]:
        """The entries, with exact decimals as texts."""
        return [
            {
                "release": own.release,
                "state": own.state,
                "epsilon": decimal_text(own.loss.epsilon),
                "delta": decimal_text(own.loss.delta),
                "begun_at": own.begun_at,
            }
            for own in self.account.entries
        ]

    @property
    def sentence(self) -> str:
        """What all releases together promise."""
        if self.voided_by:
            some = (
                "1 of this table is"
                if len(self.voided_by) == 1
                else f"{len(self.voided_by):,} of this table are"
            )
            return (
                f"Nothing is promised of all releases together: {some} not differentially private, or what "
                "is spent is not known."
            )
        return sentence_on(self.account.held, len(self.account.entries), self.least_records)


async def ledger_of(work: UnitOfWork, dataset: Stored, people: PeopleInBoth | None = None) -> Ledger:
    """The ledger of the table that a dataset was made of.

    ``people`` are what its content was compared with just now, whole records of it; None: only earlier.
    """
    subject = await content_subject(work, dataset)
    tables = await tables_of(work, {} if people is None else {people.subject: people.subjects})
    unknown = _not_known(tables, subject) if people is None else people.unknown
    return await ledger_of_table(work, tables, subject, unknown)


async def budget_of_release(work: UnitOfWork, release: Stored) -> JsonObject:
    """How the budget of a release's table stands, in short."""
    return (await ledger_of(work, await work.resources.get(Kind.DATASET, release.uses[0]))).in_short


async def spending_of(work: UnitOfWork, dataset: Stored) -> JsonObject:
    """What all releases of a dataset's table spend by now, to be kept with a question about one of them."""
    ledger = await ledger_of(work, dataset)
    held = ledger.account.held
    return {
        "epsilon": decimal_text(held.epsilon),
        "delta": decimal_text(held.delta),
        "releases": len(ledger.account.entries),
        "voided_by": [own.release for own in ledger.voided_by],
        "least_records": ledger.least_records,
        "hypotheses": [*_weakest(ledger.promised), asdict(ledger.completeness)],
    }


def spending_of_document(kept: JsonObject) -> TableSpending:
    """The same as gates read it."""
    loss = PrivacyLoss(Fraction(kept["epsilon"]), Fraction(kept["delta"]))
    # Evaluations of before kept less.
    hypotheses = tuple(Hypothesis(**own) for own in kept.get("hypotheses", ()))
    return TableSpending(
        loss, kept["releases"], tuple(kept["voided_by"]), kept.get("least_records"), hypotheses
    )


def _weakest(promised: Sequence[JsonObject]) -> list[JsonObject]:
    """What all guarantees rest on, each hypothesis as it is of the one of which least is known.

    That nothing else was drawn is not among them: the sums are of all draws.
    """
    order = ("no", "assumed", "yes")
    found: dict[str, JsonObject] = {}
    for own in (one for guarantee in promised for one in guarantee["hypotheses"]):
        kept = found.setdefault(own["id"], own)
        if order.index(own["holds"]) < order.index(kept["holds"]):
            found[own["id"]] = own
    found.pop(DRAWN_ONCE, None)
    return list(found.values())


async def ledger_of_table(
    work: UnitOfWork, tables: Tables, subject: str, unknown: str | None = None
) -> Ledger:
    """The ledger of a table by what draws of one of its contents are counted by.

    ``unknown`` is why more may have been released of its people; None: as far as draws have kept it.
    """
    subjects, datasets = tables.subjects(subject), tables.datasets(subject)
    found = await work.budgets.of_table(subjects)
    budgets = tuple(sorted(found, key=lambda own: (own.limits.epsilon, own.limits.delta)))
    account = await account_of(work, subjects)
    ids = {own.id for own in datasets}
    released = [own for own in await all_resources(work, Kind.RELEASE) if own.uses[0] in ids][::-1]
    private = [own for own in released if is_drawn(own) and hides_records(own)]
    promised = tuple(guarantee for own in private for guarantee in own.summary["mechanism"]["guarantees"])
    voids = await _voids(work, account, datasets, released)
    unknown = _not_known(tables, subject) if unknown is None else unknown
    return Ledger(budgets, tables.names(subject), account, voids, promised, unknown)


def _not_known(tables: Tables, subject: str) -> str:
    """Why there may be draws of a table's people that are not counted with it; empty if there are none."""
    if not any(names_people(own) for own in tables.datasets(subject)):
        return NO_IDENTIFIER
    subjects = tables.subjects(subject)
    numbers = [number for number, own in enumerate(tables.draws) if own.subject_sha256 in subjects]
    counted = [tables.draws[number] for number in numbers]
    later = tables.draws[max(numbers, default=-1) + 1 :]
    return "" if all(own.is_compared for own in (*counted, *later)) else NOT_COMPARED


async def _voids(
    work: UnitOfWork, account: Account, datasets: Sequence[Stored], released: Sequence[Stored]
) -> tuple[Void, ...]:
    """The releases of the table that spend an unknown or unlimited amount."""
    found, named = [], set()
    for release in released:
        if not is_drawn(release):
            found.append(Void(release.name, "It shows records under a rule."))
        elif not hides_records(release):
            name = release.summary["mechanism"]["name"]
            found.append(Void(release.name, f"The mechanism {name} is not differentially private."))
            named.add(release.id)
        elif BOUNDED_PRIVACY in {own["model"] for own in release.summary["mechanism"]["guarantees"]}:
            found.append(
                Void(release.name, "It publishes totals exactly: of one record more it promises nothing.")
            )
            named.add(release.id)
    beside: set[str] = set()
    for id_ in {own.uses[0] for own in datasets}:
        upload = await work.resources.described(Kind.UPLOAD, id_)
        contents = await contents_like(work, upload.summary["content_sha256"])
        beside.update(subjects_beside(contents, None, upload.summary["columns"]))
    counted = {own.id for own in account.unknown}
    found += [
        Void(
            own.release,
            "It promises no certified differential privacy, or is a draw that was begun before budgets were "
            "kept: what it spends is not known.",
        )
        for own in account.unknown
        if own.id not in named
    ]
    found += [
        Void(None, "A draw of it by a mechanism that is not differentially private is counted.")
        for own in await work.draws.of_subject("", beside)
        if own.release is None and own.id not in counted
    ]
    return tuple(found)


async def content_subject(work: UnitOfWork, dataset: Stored) -> str:
    """What draws of whole records of the dataset's own content are counted by."""
    upload = await work.resources.described(Kind.UPLOAD, dataset.uses[0])
    return subject_of(upload.summary["content_sha256"], None)
