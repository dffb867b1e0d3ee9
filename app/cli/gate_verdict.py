"""A verdict as a pipeline reads it, and what came of a gate: such a verdict, or the fault that prevented one.

Only a verdict that is whole and agrees with itself lets anything pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from app.cli.given_views import GivenViews
from app.domain.errors import InvalidInput
from app.evidence.statement import SignedBy

if TYPE_CHECKING:
    from app.domain.policies.comparison import Comparison, Value

Json = Mapping[str, Any]

EXIT_CODES: Final[Mapping[str, int]] = {"pass": 0, "fail": 1, "error": 2}
FAULT: Final = 2
"""The exit code of everything that is no verdict."""


class Standing(StrEnum):
    """What a criterion's outcome means for the release."""

    PASSED = "passed"
    WARNING = "warning"
    WAIVED = "waived"
    FAILED = "failed"
    ERROR = "error"


_STANDINGS: Final[Mapping[tuple[str, str], Standing]] = {
    ("block", "passed"): Standing.PASSED,
    ("warn", "passed"): Standing.PASSED,
    ("block", "waived"): Standing.WAIVED,
    ("warn", "waived"): Standing.WAIVED,
    ("block", "failed"): Standing.FAILED,
    ("warn", "failed"): Standing.WARNING,
    ("block", "not_computable"): Standing.ERROR,
    ("warn", "not_computable"): Standing.WARNING,
}


@dataclass(frozen=True)
class JudgedCriterion:
    """One criterion of a verdict; ``document`` is all that is said of it."""

    id: str
    title: str
    reason: str
    standing: Standing
    explanation: str
    document: Json

    @property
    def value_and_threshold(self) -> str:
        """``mean risk of the records 0.46; at most 0.1 is required``: the value beside its threshold.

        A share of records is told in records, its threshold in percent.
        """
        value, threshold = self.document.get("value"), self.document.get("threshold")
        quantity = self.document.get("quantity") or {}
        what, of = str(quantity.get("what") or ""), quantity.get("of_records")
        found, limit = f"{what} {shown(value)}", shown(threshold)
        if value is None:
            found = f"no value for {what}" if what else "no value"
        elif of is not None:
            found, limit = f"{round(float(value) * of):,} of {of:,} records {what}", _percent(threshold)
        if self.document.get("comparison") is None:
            return found.strip()
        comparison = str(self.document["comparison"]).replace("_", " ")
        return f"{found.strip()}; {comparison} {limit} is required"

    @property
    def rests_on_assumptions(self) -> bool:
        """Whether something that it rests on could not be checked; its explanation names that."""
        return any(own.get("holds") == "assumed" for own in self.document.get("hypotheses") or ())


@dataclass(frozen=True)
class Verdict:
    """What a policy says of a release."""

    status: str
    criteria: tuple[JudgedCriterion, ...]
    document: Json

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 error."""
        return EXIT_CODES[self.status]

    @property
    def policy(self) -> str:
        """``NAME@VERSION``."""
        policy = self.document["policy"]
        return f"{policy['name']}@{policy['version']}"


def read_verdict(document: object) -> Verdict:
    """The verdict of a result document; InvalidInput unless it is whole and agrees with itself.

    The verdict is derived again from the outcomes: a document that claims to pass beside a criterion that
    blocks is no verdict.
    """
    if not isinstance(document, Mapping) or document.get("kind") != "verdict" or document.get("version") != 1:
        raise _broken("It is no verdict of version 1.")
    policy, entries = document.get("policy"), document.get("criteria")
    if not isinstance(policy, Mapping) or not {"name", "version"} <= policy.keys():
        raise _broken("It names no policy.")
    if isinstance(entries, str) or not isinstance(entries, Sequence) or not entries:
        raise _broken("It holds no criteria.")
    criteria = tuple(_criterion(entry) for entry in entries)
    if len({criterion.id for criterion in criteria}) < len(criteria):
        raise _broken("It holds a criterion twice.")
    status = _with_coverage(document.get("coverage"), _derived(criteria))
    if document.get("verdict") != status:
        raise _broken(f"It says {document.get('verdict')!r}, and its criteria {status!r}.")
    return Verdict(status, criteria, document)


def _criterion(entry: object) -> JudgedCriterion:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str):
        raise _broken("A criterion of it has no id.")
    severity, outcome = entry.get("severity"), entry.get("outcome")
    standing = _STANDINGS.get((str(severity), str(outcome)))
    if standing is None:
        raise _broken(f"The criterion {entry['id']} is neither passed nor failed.")
    if standing is Standing.PASSED and not _is_met(entry.get("margin")):
        raise _broken(f"The criterion {entry['id']} is passed beside a margin that it misses.")
    if standing is Standing.PASSED and not _keeps_threshold(entry):
        raise _broken(f"The criterion {entry['id']} is passed beside a value that does not.")
    waiver = entry.get("waiver")
    if standing is Standing.WAIVED and not (isinstance(waiver, Mapping) and waiver.get("in_force") is True):
        raise _broken(f"The criterion {entry['id']} is waived without a waiver in force.")
    if not _is_readable(entry):
        raise _broken(f"What the criterion {entry['id']} measured and rests on cannot be read.")
    texts = (str(entry.get(key) or "") for key in ("title", "reason", "explanation"))
    title, reason, explanation = texts
    return JudgedCriterion(entry["id"], title or entry["id"], reason, standing, explanation, entry)


def _is_readable(entry: Json) -> bool:
    """Whether what is told beside the outcome has the form in which it is shown."""
    quantity, hypotheses = entry.get("quantity") or {}, entry.get("hypotheses") or ()
    if not isinstance(quantity, Mapping) or not isinstance(hypotheses, Sequence):
        return False
    of, value = quantity.get("of_records"), entry.get("value")
    is_share = of is None or (
        isinstance(of, int) and (value is None or (isinstance(value, int | float) and math.isfinite(value)))
    )
    return is_share and all(isinstance(own, Mapping) for own in hypotheses)


def _is_met(margin: object) -> bool:
    """Whether a criterion with this margin can have passed; conditions have none."""
    if margin is None or margin == "inf":
        return True
    return isinstance(margin, int | float) and not isinstance(margin, bool) and margin >= 0


def _keeps_threshold(entry: Json) -> bool:
    """Whether the value, where there is one, keeps the threshold."""
    value, threshold = (_number(entry.get(key)) for key in ("value", "threshold"))
    if value is None:
        return True
    # Imported here: it loads what computes with numbers, which help and wrong arguments need nothing of.
    from app.domain.policies.comparison import holds

    try:
        return holds(value, cast("Comparison", entry.get("comparison")), cast("Value", threshold)) is True
    except ValueError:
        return False


def _number(value: object) -> Value | None:
    """A value of a document, which writes infinities as texts."""
    return float(value) if value in ("inf", "-inf") else cast("Value | None", value)


def _derived(criteria: Sequence[JudgedCriterion]) -> str:
    standings = {criterion.standing for criterion in criteria}
    if Standing.ERROR in standings:
        return "error"
    return "fail" if Standing.FAILED in standings else "pass"


def _with_coverage(coverage: object, status: str) -> str:
    """The status, unless the columns that are released do not let anything pass.

    A verdict that says nothing of columns is one of a service that did not check them: it passes nothing.
    """
    if not isinstance(coverage, Mapping):
        raise _broken("It does not say which columns are released and what judges them.")
    outcome, uncovered = coverage.get("outcome"), coverage.get("uncovered")
    if outcome in ("draft_schema", "missing_reason", "not_computable"):
        return "error"
    if outcome == "not_of_dataset" and uncovered:
        return "fail"
    if outcome not in ("covered", "not_covered") or (outcome == "covered") != (uncovered == []):
        raise _broken("What it says of the columns does not agree with itself.")
    return "fail" if uncovered and status == "pass" else status


def _broken(why: str) -> InvalidInput:
    return InvalidInput.of(
        "result", "no-verdict", f"The service's answer cannot be used. {why}", "Nothing has passed."
    )


def shown(value: object) -> str:
    """A number, truth value or text as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return {"inf": "∞", "-inf": "−∞", None: "–"}.get(value, str(value))  # type: ignore[call-overload,no-any-return]


def _percent(share: object) -> str:
    """A share as people read it."""
    known = isinstance(share, int | float) and not isinstance(share, bool)
    return f"{100 * float(share):.6g} %" if known and share else shown(share)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Kept:
    """What is left of the evidence: whose key signed it, where it was written, and the key beside it."""

    signed_by: SignedBy
    report: Path | None = None
    keys: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """What a pipeline is told."""

    policy: str
    """The policy as it was named: a file or a name."""
    subject: str
    """What was judged as it was named: the dataset or the release file."""
    verdict: Verdict | None
    """None if there is none, and ``fault`` says why."""
    fault: str | None = None
    evaluation: str | None = None
    """Name of the evaluation; a server stores it."""
    evidence: Json | None = None
    """Its evidence: ``id`` (None without a server, which would hold it) and ``sha256``."""
    kept: Kept | None = None
    """Where the evidence is; None without any."""
    outline: tuple[Json, ...] = ()
    """The questions of the policy that its criteria answer."""
    views: GivenViews | None = None
    """The views that are asked about, with their files."""
    unchanged: int = 0
    """How many of them were not judged again, for an earlier verdict proves them private."""
    canonical: Path | None = None
    """Where the release file was written in canonical form."""

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 error; without a verdict or without its evidence nothing passes."""
        if self.verdict is None or self.fault is not None or self.evidence is None:
            return FAULT
        return self.verdict.exit_code

    @property
    def headline(self) -> str:
        """``PASS``, ``FAIL`` or ``ERROR``."""
        return {0: "PASS", 1: "FAIL"}.get(self.exit_code, "ERROR")
