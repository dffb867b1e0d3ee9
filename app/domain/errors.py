"""Everything that can go wrong, as one tree.

::

    PrivacyRiskError                 every error that the product raises on purpose
    ├─ InvalidInput                  the request or the data break a rule; carries one fault per offender
    ├─ NotSupported                  a correct request outside what the model can do
    ├─ NotFound                      no such resource for this tenant
    ├─ Withdrawn                     a release whose table is not given out any more
    ├─ Conflict                      the name, key or state is taken, or the resource is in use
    │  └─ NotFinished                a run has no result yet
    ├─ TooLarge                      a stated limit was exceeded
    │  └─ TooCostly                  reading an upload takes more processor time than its size allows
    ├─ DirectBudgetExceeded          too much work for a direct answer: it must be a run
    ├─ MemoryLimitExceeded           work that would need more memory than a run may have
    ├─ Unauthenticated               no valid credential
    ├─ Forbidden                     the credential lacks a scope
    ├─ NotAdmitted                   a genuine identity that nothing is allowed to here
    ├─ QuotaExceeded                 the tenant would have more than it may
    ├─ RateLimited                   too many requests, or too much work at once
    │  └─ TooManyAtOnce              every place of the tenant for such requests is taken
    └─ Unavailable                   a part that is needed does not answer

Messages say what was wrong, what is allowed and where; they never repeat a cell of uploaded data.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar


class PrivacyRiskError(Exception):
    """Root of the tree; ``code`` is the stable name of the kind of problem."""

    code: ClassVar[str] = "internal-error"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True)
class Fault:
    """One offender: where it is (JSON pointer or column path), what is wrong, what would be right."""

    pointer: str
    code: str
    message: str
    remedy: str = ""
    choices: tuple[str, ...] = ()
    """What can be said instead, where that is one of a few things."""


class InvalidInput(PrivacyRiskError):
    """The input breaks one or more rules, all of them listed."""

    code = "invalid-input"

    def __init__(self, faults: Sequence[Fault]) -> None:
        if not faults:
            raise ValueError("InvalidInput needs at least one fault")
        self.faults = tuple(faults)
        first = self.faults[0]
        more = "" if len(self.faults) == 1 else f" (and {len(self.faults) - 1} more)"
        super().__init__(first.message + more, first.remedy)

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[tuple[Fault, ...]]]:
        """For a process that hands it to another one."""
        return type(self), (self.faults,)

    @classmethod
    def of(cls, pointer: str, code: str, message: str, remedy: str = "") -> InvalidInput:
        """Build the error for a single fault."""
        return cls([Fault(pointer, code, message, remedy)])


def joined(pointer: str, part: str | int) -> str:
    """A JSON pointer one step deeper; all that hold a name from a request are made here (RFC 6901)."""
    return f"{pointer}/{str(part).replace('~', '~0').replace('/', '~1')}"


def counted(amount: int, one: str, several: str = "") -> str:
    """So many things, in a message; ``several`` where more than one is called otherwise than with an s."""
    return f"{amount:,} {one if amount == 1 else several or one + 's'}"


def having(amount: int, thing: str) -> str:
    """So many things that have what the message goes on with."""
    return counted(amount, f"{thing} has", f"{thing}s have")


def refuse(faults: Sequence[Fault]) -> None:
    """Raise InvalidInput with all of the faults, if there are any."""
    if faults:
        raise InvalidInput(faults)


@contextlib.contextmanager
def pointing_into(place: str) -> Iterator[None]:
    """Put the place of a part before the pointers of faults that are found inside it."""
    try:
        yield
    except InvalidInput as error:
        faults = [dataclasses.replace(own, pointer=place + own.pointer.rstrip("/")) for own in error.faults]
        raise InvalidInput(faults) from None


class NotSupported(PrivacyRiskError):
    """A correct request that the model cannot answer; the remedy names the alternatives."""

    code = "not-supported"

    @classmethod
    def because(cls, reason: str) -> NotSupported:
        """Build the error of a reason whose last sentence, or what follows a semicolon, is the remedy."""
        why, sentence, remedy = reason.rpartition(". ")
        if not sentence:
            why, _, remedy = reason.rpartition("; ")
        return cls(f"{why or remedy.rstrip('.')}.", remedy[:1].upper() + remedy[1:] if why else "")


class NotFound(PrivacyRiskError):
    """No resource of this kind has this id or name."""

    code = "not-found"

    def __init__(self, kind: str, ref: str) -> None:
        super().__init__(f"There is no {kind} with the id or name {ref!r}.")
        self.kind = kind
        self.ref = ref


def unknown_reference(pointer: str, error: NotFound) -> Fault:
    """The fault of a question that names, at this place, what there is not."""
    return Fault(pointer, "unknown-reference", error.message, "Create it first, or name another.")


class Withdrawn(PrivacyRiskError):
    """The release is there, and its table is not given out any more."""

    code = "withdrawn"

    def __init__(self, name: str, at: datetime) -> None:
        super().__init__(
            f"The release {name!r} was withdrawn on {at:%Y-%m-%d}; its table is not given out any more.",
            "Ask whoever withdrew it which release takes its place.",
        )


class Conflict(PrivacyRiskError):
    """The request contradicts what exists; ``details`` names it.

    ``retry_after``: seconds after which it may do so no more; None: not by waiting.
    """

    code = "conflict"

    def __init__(
        self,
        message: str,
        remedy: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message, remedy)
        self.details = dict(details or {})
        self.retry_after = retry_after


class NotFinished(Conflict):
    """A result was asked for that its run has not found yet: to wait for the run helps."""


class TooLarge(PrivacyRiskError):
    """More than the stated limit."""

    code = "too-large"

    def __init__(self, message: str, remedy: str = "", limit: int | None = None) -> None:
        super().__init__(message, remedy)
        self.limit = limit


class TooCostly(TooLarge):
    """More work than the size of what was sent allows; ``limit`` is in seconds of processor time."""

    code = "too-costly"


class DirectBudgetExceeded(PrivacyRiskError):
    """The estimated work, of this ``cost``, is above the budget of a direct answer: a run takes it."""

    code = "direct-budget-exceeded"

    def __init__(self, cost: Mapping[str, Any]) -> None:
        super().__init__("The estimated work is above the budget of a direct answer.")
        self.cost = dict(cost)


class MemoryLimitExceeded(PrivacyRiskError):
    """By its estimate the work would need ``needed`` bytes; a run may have ``allowed``."""

    code = "memory-limit"

    def __init__(self, needed: int, allowed: int, cost: Mapping[str, Any]) -> None:
        mib = 1024**2
        super().__init__(
            f"The work is estimated to need {-(-needed // mib):,} MiB of memory; a run may have "
            f"{allowed // mib:,} MiB.",
            "Use fewer or more general attributes, another solver or scope, or have the operator raise the "
            "limit.",
        )
        self.cost = dict(cost)
        self.limit = allowed


class Unauthenticated(PrivacyRiskError):
    """No credential, or one that is unknown, expired or revoked."""

    code = "unauthenticated"


class Forbidden(PrivacyRiskError):
    """The credential is valid but lacks the scope."""

    code = "forbidden"

    def __init__(self, scope: str) -> None:
        super().__init__(f"This needs the scope {scope}.", "Use a key that carries this scope.")
        self.scope = scope


class NotAdmitted(PrivacyRiskError):
    """The identity provider vouches for somebody to whom nothing is allowed here."""

    code = "not-admitted"


class QuotaExceeded(PrivacyRiskError):
    """The tenant would have more than it may; ``quota`` has its name, its limit and what would be needed."""

    code = "quota-exceeded"

    def __init__(self, message: str, remedy: str, quota: Mapping[str, Any]) -> None:
        super().__init__(message, remedy)
        self.quota = dict(quota)


class RateLimited(PrivacyRiskError):
    """Too much at once; ``retry_after`` is in seconds, ``quota`` as of QuotaExceeded if it is one."""

    code = "rate-limited"

    def __init__(
        self, message: str, retry_after: int, remedy: str = "", quota: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, remedy or f"Try again in {retry_after} s.")
        self.retry_after = retry_after
        self.quota = None if quota is None else dict(quota)


class TooManyAtOnce(RateLimited):
    """The tenant has as many requests of a kind in progress as it may, and none ended while one waited."""

    code = "too-many-at-once"


class Unavailable(PrivacyRiskError):
    """A part of the system that is needed does not answer at present."""

    code = "unavailable"
