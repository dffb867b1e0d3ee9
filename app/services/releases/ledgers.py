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
from app.services.releases.draw_subjects import subject_of, subjects_beside
from app.services.releases.mechanism_manifests import DRAWN_ONCE, hides_records, is_drawn
from app.services.releases.shown_otherwise import releases_of_upload
from app.services.releases.within_budget import sums_told
from app.services.resources import JsonObject, Kind, Stored


@dataclass(frozen=True)
class Void:
    """A release beside which the sum promises nothing; ``release`` is None once it is deleted."""

    release: str | None
    reason: str


@dataclass(frozen=True)
class Ledger:
    """All that was released of a table, with what it spends.

    ``budget`` is None where there is none; ``datasets`` are those that are stored of the table, ``promised``
    the guarantees of its differentially private releases that are.
    """

    budget: Budget | None
    datasets: tuple[str, ...]
    account: Account
    voided_by: tuple[Void, ...]
    promised: tuple[JsonObject, ...] = ()

    @property
    def least_records(self) -> int | None:
        """The greatest number of records that is declared for a release that is stored."""
        declared = (own["parameters"].get("least_records") for own in self.promised)
        return max((int(own) for own in declared if own is not None), default=None)

    @property
    def stands(self) -> bool:
        """Whether the sums promise anything."""
        held, number = self.account.held, len(self.account.entries)
        return not self.voided_by and not nothing_left(held.delta, number, self.least_records)

    @property
    def sums(self) -> dict[str, dict[str, str | None]]:
        """Limits, and what is spent, reserved and left of them, as exact decimals."""
        return sums_told(self.account, None if self.budget is None else self.budget.limits)

    @property
    def in_short(self) -> JsonObject:
        """What the manifest of a release of the table tells of it."""
        name = None if self.budget is None else self.budget.name
        limited = (
            "No budget is set for this table: nothing limits what its releases add up to."
            if name is None
            else f"The budget {name!r} of the table limits what its releases add up to."
        )
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
            some = "1 of this table is" if len(self.voided_by) == 1 else f"{len(self.voided_by):,} of it are"
            return (
                f"Nothing is promised of all releases together: {some} not differentially private, or what "
                "is spent is not known."
            )
        return sentence_on(self.account.held, len(self.account.entries), self.least_records)


async def ledger_of(work: UnitOfWork, dataset: Stored) -> Ledger:
    """The ledger of the table that a dataset, read with its document, was made of."""
    subject = (await subjects_of(work, [dataset]))[dataset.id]
    datasets = (await datasets_by_subject(work)).get(subject, ())
    budget = await work.budgets.of_subject(subject)
    return await ledger_of_subject(work, subject, budget, names_of(datasets), dataset)


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


async def ledger_of_subject(
    work: UnitOfWork, subject: str, budget: Budget | None, names: tuple[str, ...], dataset: Stored | None
) -> Ledger:
    """The ledger of a table by what draws of it are counted by; ``names`` are the datasets of it.

    ``dataset`` is one of them, read with its document; None where none is stored.
    """
    account = await account_of(work, subject)
    released = () if dataset is None else [own for _, own in await releases_of_upload(work, dataset)]
    private = [own for own in released if is_drawn(own) and hides_records(own)]
    promised = tuple(guarantee for own in private for guarantee in own.summary["mechanism"]["guarantees"])
    return Ledger(budget, names, account, await _voids(work, account, dataset, released), promised)


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
    beside = subjects_beside(upload.summary["content_sha256"], None, upload.summary["columns"])
    found += [
        Void(None, "A draw of it by a mechanism that is not differentially private is counted.")
        for own in await work.draws.of_subject("", beside)
        if own.release is None
    ]
    return tuple(found)


async def subjects_of(work: UnitOfWork, datasets: Sequence[Stored]) -> Mapping[str, str]:
    """By id of datasets what draws of the whole records of their tables are counted by."""
    uploads = {own.id: own for own in await all_resources(work, Kind.UPLOAD)}
    return {
        own.id: subject_of(uploads[own.uses[0]].summary["content_sha256"], None)
        for own in datasets
        if own.uses[0] in uploads
    }


async def datasets_by_subject(work: UnitOfWork) -> Mapping[str, tuple[Stored, ...]]:
    """All datasets by what their tables are known by, the oldest first."""
    datasets = list(await all_resources(work, Kind.DATASET))[::-1]
    found: dict[str, tuple[Stored, ...]] = {}
    subjects = await subjects_of(work, datasets)
    for own in datasets:
        if own.id in subjects:
            found[subjects[own.id]] = (*found.get(subjects[own.id], ()), own)
    return found


def names_of(datasets: Sequence[Stored]) -> tuple[str, ...]:
    """Their names."""
    return tuple(own.name for own in datasets)
