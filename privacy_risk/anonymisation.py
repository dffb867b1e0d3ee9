"""``anonymise``: the rule of least loss under privacy criteria, and the table under it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, SupportsFloat, TypeVar, cast

from privacy_risk.answers import ClientError
from privacy_risk.arguments import InvalidArgument
from privacy_risk.client import Client
from privacy_risk.columns import Roles, Said, require_column
from privacy_risk.embedded import client_of
from privacy_risk.loading import Loaded, alone_note, content_name, has_own_values, load, one_row
from privacy_risk.profiles import measured
from privacy_risk.progress import telling
from privacy_risk.release_policy import persons_per_value, policy_of
from privacy_risk.releases import AttributeLoss, Reached, Release, Report
from privacy_risk.tables import Table, table_of
from privacy_risk.usual import APART, BETAS, MAX_SUPPRESSED, OTHERS, likeness_told, others_told
from privacy_risk.values import Json, Progress

Frame = TypeVar("Frame")
Answer = TypeVar("Answer")
PerAttribute = float | Mapping[str, float]
"""A number for every sensitive attribute, or one for each by name."""
_AT_ONCE_SECONDS: Final = 1
"""A search that takes no longer is answered where it is asked for; any other is a run to wait for."""


class Infeasible(ClientError):
    """No rule meets the criteria with so few suppressed records; ``because`` says for each criterion why.

    ``sensitive`` are columns that split the classes of a criterion about another one.
    """

    def __init__(self, because: Sequence[str], sensitive: Sequence[str] = ()) -> None:
        self.because = tuple(because)
        super().__init__(
            " ".join(
                (
                    "No generalisation of the table meets the criteria with so few suppressed records.",
                    *self.because,
                    *_without(sensitive),
                    "Ask for less (k, l, t, beta), allow more suppressed records (max_suppressed), or give "
                    "hierarchies with more levels (hierarchies).",
                )
            )
        )


def _without(sensitive: Sequence[str]) -> Iterator[str]:
    """How what splits the classes is taken out of them, if there is anything."""
    if sensitive:
        yield (
            f"Sensitive, too, and released beside it: {', '.join(sensitive)}. Judge each by itself "
            "(others='apart', --others apart), leave out what nobody needs, or have it generalised: "
            f"roles={{{sensitive[0]!r}: 'other'}} or 'quasi_identifier'. (With the command, what is not "
            "among the --quasi-identifiers that it names is left out.)"
        )


@dataclass(frozen=True)
class Criteria:
    """What every class of records has to meet, and how much may be given up for it.

    ``max_suppressed`` is a share of the records; ``importance`` weighs the losses of quasi-identifiers, 1
    where it is not named. ``others`` says how other sensitive attributes count in ℓ-diversity.
    """

    k: int
    l: PerAttribute | None = None  # noqa: E741 - its name in the field
    t: PerAttribute | None = None
    max_suppressed: float = MAX_SUPPRESSED
    importance: Mapping[str, float] | None = None
    others: str = APART
    beta: PerAttribute | None = None

    def check(self, columns: Sequence[str], rows: int) -> None:
        """InvalidArgument for what cannot be asked of a table of these columns and so many rows."""
        _check_numbers("k", self.k, columns, _Range(1.0, math.inf, is_whole=True))
        if self.k > rows:
            raise InvalidArgument(
                "k",
                f"The table has {rows:,} rows, so no class can have {self.k:,}.",
                f"k is at most {rows:,}.",
            )
        _check_numbers("max_suppressed", self.max_suppressed, columns, _Range(0.0, 1.0))
        _check_numbers("l", self.l, columns, _Range(1.0, math.inf, is_whole=True))
        _check_numbers("t", self.t, columns, _Range(0.0, 1.0, is_above=True))
        _check_numbers("beta", self.beta, columns, _Range(*BETAS, is_exact=True))
        _check_numbers("importance", self.importance, columns, _Range(0.0, math.inf))
        if self.others not in OTHERS:
            remedy = f"Give {' or '.join(map(repr, OTHERS))}."
            raise InvalidArgument("others", f"{self.others!r} is none of the choices.", remedy)

    @property
    def named(self) -> tuple[str, ...]:
        """The attributes that a criterion names: they are sensitive."""
        numbers = [given for given in (self.l, self.t, self.beta) if isinstance(given, Mapping)]
        return tuple(dict.fromkeys(name for given in numbers for name in given))

    def privacy(self, sensitive: Sequence[str]) -> list[dict[str, Any]]:
        """The criteria as the service takes them; InvalidArgument for one that has nothing to be about."""
        asked: list[dict[str, Any]] = [{"kind": "k_anonymity", "k": int(self.k)}]
        others = {"others": self.others} if len(sensitive) > 1 else {}
        for name, number in _per_attribute("l", self.l, sensitive).items():
            asked.append({"kind": "distinct_l_diversity", "l": int(number), "attribute": name, **others})
        for name, number in _per_attribute("t", self.t, sensitive).items():
            asked.append({"kind": "t_closeness", "t": float(number), "attribute": name, "distance": "equal"})
        for name, number in _per_attribute("beta", self.beta, sensitive).items():
            asked.append({"kind": "beta_likeness", "beta": float(number), "attribute": name})
        return asked


def _per_attribute(
    argument: str, given: PerAttribute | None, sensitive: Sequence[str]
) -> Mapping[str, float]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    if not sensitive:
        raise InvalidArgument(
            argument,
            "It is about sensitive attributes, and the table has none that is named or proposed.",
            f"Name them: sensitive=[...], or {argument}={{name: {given!r}}}.",
        )
    return dict.fromkeys(sensitive, given)


@dataclass(frozen=True)
class _Range:
    """The numbers from ``least``, or above it, up to ``most``; ``is_exact``: that are kept as written."""

    least: float
    most: float
    is_whole: bool = False
    is_above: bool = False
    is_exact: bool = False

    def holds(self, value: object) -> bool:
        """Whether the value is one of the numbers."""
        if not _is_number(value):
            return False
        number = float(cast(float, value))
        is_in = (self.least < number if self.is_above else self.least <= number) and number <= self.most
        if is_in and self.is_exact and isinstance(value, Decimal | Fraction):
            is_in = written(number) == Fraction(value)
        return is_in and (number.is_integer() or not self.is_whole)

    def __str__(self) -> str:
        kind = "a whole number" if self.is_whole else "a number"
        least = f"above {self.least:g}" if self.is_above else f"from {self.least:g}"
        most = "on" if math.isinf(self.most) else f"to {self.most:g}"
        return f"{kind} {least} {most}" + (f", {KEPT}" if self.is_exact else "")


KEPT: Final = "of at most 15 significant digits"
"""Decimals that are kept exactly, as they are written."""


def written(number: float) -> Fraction:
    """The decimal that a number is kept as: 0.1 is a tenth."""
    return Fraction(repr(number))


def _check_numbers(
    argument: str, given: PerAttribute | None, columns: Sequence[str], allowed: _Range
) -> None:
    """InvalidArgument for columns that there are not, and for numbers that are not allowed."""
    named = given if isinstance(given, Mapping) else {}
    for name in named:
        require_column(argument, name, columns)
    for value in named.values() if isinstance(given, Mapping) else () if given is None else (given,):
        if not allowed.holds(value):
            raise InvalidArgument(argument, f"{value!r} is out of range.", f"Give {allowed}.")


def _is_number(value: object) -> bool:
    return isinstance(value, SupportsFloat) and not isinstance(value, bool) and not math.isnan(float(value))


def anonymise(
    frame: Frame,
    *,
    k: int,
    l: PerAttribute | None = None,  # noqa: E741 - its name in the field
    t: PerAttribute | None = None,
    beta: PerAttribute | None = None,
    max_suppressed: float = MAX_SUPPRESSED,
    importance: Mapping[str, float] | None = None,
    others: str = APART,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    person: str | None = None,
    rows_are: str | None = None,
    hierarchies: Mapping[str, object] | None = None,
    one_row_per_person: str | Mapping[str, object] | None = None,
    date_formats: Mapping[str, str] | None = None,
    missing_markers: Sequence[str] = (),
    server: str | None = None,
    key: str | None = None,
) -> Release[Frame]:
    """The table generalised and suppressed so that every class meets the criteria, at the least loss.

    ``k`` is that of k-anonymity, ``l`` of distinct ℓ-diversity, ``t`` of t-closeness (all values equally
    far apart) and ``beta`` of enhanced β-likeness of each sensitive attribute; ``max_suppressed`` is the
    share of the records that may be suppressed. ``others`` says how further sensitive attributes count in
    ℓ-diversity: ``apart``, whoever knows somebody knows no other sensitive value of theirs, or
    ``in_classes``, they may know all others and each splits the classes. ``importance`` weighs the losses of
    quasi-identifiers, 1 where it is not named.
    The ``hierarchies`` say how columns are generalised: a definition as POST /v1/hierarchies takes it, rows
    from the value to its most general one, or a file of them. Direct identifiers and columns that are
    neither quasi-identifiers nor sensitive do not leave. ``frame``, ``person``, ``rows_are``,
    ``one_row_per_person``, ``date_formats``, ``missing_markers``, ``server`` and ``key`` and the errors are
    those of :func:`profile`, and InvalidArgument where one person seems to have several rows and nobody
    says what a row is; Infeasible if no rule meets the criteria.
    """
    table = table_of(frame, "frame", missing_markers)
    said = Said(
        quasi_identifiers, sensitive, roles or {}, hierarchies or {}, person, rows_are, date_formats or {}
    )
    criteria = Criteria(k, l, t, max_suppressed, importance, others, beta)
    return answered(table, said, criteria, one_row_per_person, (server, key), released)


def answered(
    table: Table,
    said: Said,
    criteria: Criteria,
    one_row_per_person: str | Mapping[str, object] | None,
    service: tuple[str | None, str | None],
    answer: Callable[..., Answer],
) -> Answer:
    """What ``answer`` makes of a table in memory; ``service`` is a server's address and a key for it."""
    said = replace(said, sensitive=tuple(dict.fromkeys((*said.sensitive, *criteria.named))))
    check(criteria, said, table)
    with telling() as tell:
        client = client_of(*service)
        table, said = one_row(client, table, said, one_row_per_person)
        return anonymised(client, table, said, criteria, tell, answer)


def check(criteria: Criteria, said: Said, table: Table) -> None:
    """InvalidArgument for what can be told to be wrong before a service is started."""
    criteria.check(table.columns, table.rows)
    said.by_column(table.columns)


def released(
    client: Client,
    loaded: Loaded,
    rows: int,
    criteria: Criteria,
    tell: Callable[[Progress], None],
    given_back: Callable[[bytes], Any],
) -> Release[Any]:
    """The release of a dataset of so many rows; ``given_back`` makes a table of what comes in Parquet."""
    loaded, asked = asked_for(client, loaded, criteria)
    objective = {"kind": "min_loss", **asked}
    if criteria.importance:
        objective["loss"] = {
            "kind": "geometric",
            "weights": {name: float(weight) for name, weight in criteria.importance.items()},
        }
    question = {"dataset": loaded.dataset, "objective": objective}
    name = content_name("least-loss", question)
    found = found_by(client, {"name": name, **question}, tell)
    if found["rule"] is None:
        raise infeasible(found, asked["privacy"], loaded.roles)
    report = _report(client, loaded.dataset, name, found, rows)
    return release_by(client, loaded, asked, (name, found["rule"]), report, given_back)


def asked_for(client: Client, loaded: Loaded, criteria: Criteria) -> tuple[Loaded, dict[str, Any]]:
    """What a release has to meet, as an objective of the service has it.

    With the dataset, whose notes tell what β-likeness needs; that is said before a search, too.
    """
    dataset = client.datasets.get(loaded.dataset).document
    persons = persons_per_value(dataset, criteria.k)
    asked: dict[str, Any] = {
        "privacy": criteria.privacy(loaded.roles.of("sensitive")),
        "suppression_limit": float(criteria.max_suppressed),
        **({"persons_per_value": persons} if persons else {}),
    }
    if criteria.beta is None:
        return loaded, asked
    profile = client.datasets.profile(loaded.dataset, limit=1)
    told = tuple(likeness_told(dataset, profile, asked))
    if told:
        print(*told, sep="\n", file=sys.stderr)
    return replace(loaded, notes=(*loaded.notes, *told)), asked


def anonymised(
    client: Client,
    table: Table,
    said: Said,
    criteria: Criteria,
    tell: Callable[[Progress], None],
    answer: Callable[..., Answer],
) -> Answer:
    """The release of a table, by this client, or what else ``answer`` makes of the dataset."""
    loaded = load(client, table, said, is_generalised=True)
    return answer(client, loaded, table.rows, criteria, tell, table.given_back)


def infeasible(found: Json, privacy: Sequence[Json], roles: Roles) -> Infeasible:
    """Why a search has found no rule."""
    judged = {own["attribute"] for own in privacy if own.get("others", APART) != APART}
    beside = [name for name in roles.of("sensitive") if name not in judged] if judged else []
    return Infeasible([own["reason"] for own in found["infeasible_because"]], beside)


def release_by(
    client: Client,
    loaded: Loaded,
    asked: Json,
    named: tuple[str, Json],
    report: Report,
    given_back: Callable[[bytes], Any],
) -> Release[Any]:
    """The release of a dataset by a stored rule, which is ``named``; ``asked`` is what it has to meet."""
    name, rule = named
    client.releases.create({"name": name, "dataset": loaded.dataset, "rule": name})
    frame = given_back(b"".join(client.releases.data(name, format="parquet")))
    reading = {**client.datasets.reading(loaded.dataset), **loaded.files}
    policy = policy_of(asked, loaded.roles, reading)
    shown = _amounts(loaded, rule.get("levels") or {})
    told = (_domains(reading), *others_told(asked["privacy"]), *_left_out(loaded.roles), *shown)
    notes = (*loaded.notes, *told, *_singled_out(report))
    return Release(frame, report, rule, loaded.roles, notes, policy)


def found_by(client: Client, question: Json, tell: Callable[[Progress], None]) -> Json:
    """The search's result, waited for."""
    run = client.optimisations.start_run(question, wait_seconds=_AT_ONCE_SECONDS)
    if run.result is not None:
        return run.result
    return client.runs.result(client.runs.wait(run.id, tell).id)


def _report(client: Client, dataset: str, rule: str, found: Json, records: int) -> Report:
    body = {"dataset": dataset, "rule": rule, "measure": {"kind": "information_loss"}}
    loss = measured(client, body)
    levels = found["rule"]["levels"]
    return Report(
        records=records,
        suppressed=found["suppressed_records"],
        classes=found["classes"],
        smallest_class=found["smallest_class"],
        loss=found["loss"],
        gap=found["gap"],
        reached=tuple(Reached(own["criterion"], own["attained"]) for own in found["privacy"]),
        losses=tuple(
            AttributeLoss(own["attribute"], levels[own["attribute"]], own["loss"])
            for own in loss["attributes"]
        ),
        persons=loss["judged"]["persons"],
        persons_suppressed=loss["judged"]["persons_suppressed"],
    )


def _left_out(roles: Roles) -> Iterator[str]:
    """What of the table does not leave, and why, in a sentence if there is anything."""
    dropped = [f"{own.name} ({own.reason.rstrip('.') or own.role})" for own in roles if not own.is_disclosed]
    if dropped:
        yield f"Left out of the release: {'; '.join(dropped)}."


def _domains(reading: Json) -> str:
    """Of which values the losses are shares: those of a hierarchy that declares its own, or the table's."""
    declared = [name for name, own in reading["columns"].items() if has_own_values(own.get("hierarchy"))]
    besides = f"; of {', '.join(declared)} those that the hierarchy declares" if declared else ""
    return f"Losses count the values that the table holds{besides}."


def _amounts(loaded: Loaded, levels: Mapping[str, int]) -> Iterator[str]:
    """How amounts that are sensitive leave, and whom they would single out as they are."""
    for name, rows in loaded.alone.items():
        level, definition = levels.get(name, 0), loaded.roles[name].hierarchy or {}
        bounds = [[], *definition.get("bounds", ()), []][level]
        how = f"at level {level}" if level else "as it is"
        if bounds:
            how = f"in {len(bounds) + 1} bands, the highest {bounds[-1]} or more"
        if level or rows:
            yield f"{name} leaves {how}{alone_note(rows, how)}."


def _singled_out(report: Report) -> Iterator[str]:
    """What a k of 1 means, where that is what was reached."""
    if report.smallest_class == 1:
        yield (
            "k is 1: the table has one record, and no generalisation hides it among others."
            if report.records == 1
            else "k is 1: some record shows quasi-identifiers that nobody else's record shows, and whoever "
            "knows these of a person finds it. Ask for a k of 2 or more."
        )
