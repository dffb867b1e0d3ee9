"""The ledger of a table: what each release of it spends, and which leave the sum without meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.gates.spending_kept import TableSpending
from app.domain.mechanisms.privacy_loss import PrivacyLoss, decimal_text
from app.domain.mechanisms.spending import nothing_left, sentence_on
from app.services.named import all_resources
from app.services.ports import UnitOfWork
from app.services.releases.budgets import Account, Budget, account_of
from app.services.releases.draw_subjects import subject_of, subjects_alike, subjects_beside
from app.services.releases.mechanism_manifests import DRAWN_ONCE, hides_records, is_drawn
from app.services.releases.same_tables import contents_alike, contents_like
from app.services.releases.shown_otherwise import releases_of_upload
from app.services.releases.within_budget import least_limits, sums_told
from app.services.resources import JsonObject, Kind, Stored


@dataclass(frozen=True)
class Void:
    """A release beside which the sum promises nothing; ``release`` is None once it is deleted."""

    release: str | None
    reason: str


@dataclass(frozen=True)
class Ledger:
    """All that was released of a table, with what it spends.

    ``budgets`` are all that the table has, what allows least first: there are several only where contents
    turned out to be the same table later. ``datasets`` are those that are stored of the table, ``promised``
    the guarantees of its differentially private releases that are.
    """

    budgets: tuple[Budget, ...]
    datasets: tuple[str, ...]
    account: Account
    voided_by: tuple[Void, ...]
    promised: tuple[JsonObject, ...] = ()

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
        return {"name": name, **self.sums, "sentence": f"{limited} {self.sentence}"}

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


async def ledger_of(work: UnitOfWork, dataset: Stored) -> Ledger:
    """The ledger of the table that a dataset, read with its document, was made of."""
    tables = await tables_of(work)
    subject = await content_subject(work, dataset)
    return await ledger_of_table(work, tables, subject, dataset)


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
        "hypotheses": _weakest(ledger.promised),
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


async def ledger_of_table(work: UnitOfWork, tables: Tables, subject: str, dataset: Stored | None) -> Ledger:
    """The ledger of a table by what draws of one of its contents are counted by.

    ``dataset`` is one of its datasets, read with its document; None where none is stored.
    """
    names = tables.names(subject)
    found = await work.budgets.of_table(tables.subjects(subject))
    budgets = tuple(sorted(found, key=lambda own: (own.limits.epsilon, own.limits.delta)))
    account = await account_of(work, tables.subjects(subject))
    released = () if dataset is None else [own for _, own in await releases_of_upload(work, dataset)]
    private = [own for own in released if is_drawn(own) and hides_records(own)]
    promised = tuple(guarantee for own in private for guarantee in own.summary["mechanism"]["guarantees"])
    return Ledger(budgets, names, account, await _voids(work, account, dataset, released), promised)


async def _voids(
    work: UnitOfWork, account: Account, dataset: Stored | None, released: Sequence[Stored]
) -> tuple[Void, ...]:
    """The releases of the table that spend an unknown or unlimited amount."""
    found = [
        Void(
            own.release,
            "It promises no certified differential privacy, or is a draw that was begun before budgets were "
            "kept: what it spends is not known.",
        )
        for own in account.unknown
    ]
    if dataset is None:
        return tuple(found)
    for release in released:
        if not is_drawn(release):
            found.append(Void(release.name, "It shows records under a rule."))
        elif not hides_records(release):
            name = release.summary["mechanism"]["name"]
            found.append(Void(release.name, f"The mechanism {name} is not differentially private."))
    upload = await work.resources.described(Kind.UPLOAD, dataset.uses[0])
    contents = await contents_like(work, upload.summary["content_sha256"])
    beside = subjects_beside(contents, None, upload.summary["columns"])
    found += [
        Void(None, "A draw of it by a mechanism that is not differentially private is counted.")
        for own in await work.draws.of_subject("", beside)
        if own.release is None
    ]
    return tuple(found)


@dataclass(frozen=True)
class Tables:
    """The tenant's tables by what draws of their contents are counted by.

    ``alike`` are by subject all of the same table, in one order, where there are several; ``stored`` are by
    the first of them the datasets that are stored, the oldest first.
    """

    alike: Mapping[str, tuple[str, ...]]
    stored: Mapping[str, tuple[Stored, ...]]

    def subjects(self, subject: str) -> tuple[str, ...]:
        """The subjects of all contents that are the same table."""
        return self.alike.get(subject, (subject,))

    def datasets(self, subject: str) -> tuple[Stored, ...]:
        """The datasets of the table, without their documents."""
        return self.stored.get(self.subjects(subject)[0], ())

    def names(self, subject: str) -> tuple[str, ...]:
        """Their names."""
        return tuple(own.name for own in self.datasets(subject))


async def tables_of(work: UnitOfWork) -> Tables:
    """All that is known of which contents and which datasets are of the same table."""
    alike = {
        subject_of(content, None): tuple(sorted(subjects_alike(own, None)))
        for content, own in (await contents_alike(work)).items()
        if len(own) > 1
    }
    contents = {own.id: own.summary["content_sha256"] for own in await all_resources(work, Kind.UPLOAD)}
    stored: dict[str, tuple[Stored, ...]] = {}
    for own in list(await all_resources(work, Kind.DATASET))[::-1]:
        if own.uses[0] in contents:
            subject = subject_of(contents[own.uses[0]], None)
            key = alike.get(subject, (subject,))[0]
            stored[key] = (*stored.get(key, ()), own)
    return Tables(alike, stored)


async def content_subject(work: UnitOfWork, dataset: Stored) -> str:
    """What draws of whole records of the dataset's own content are counted by."""
    upload = await work.resources.described(Kind.UPLOAD, dataset.uses[0])
    return subject_of(upload.summary["content_sha256"], None)
