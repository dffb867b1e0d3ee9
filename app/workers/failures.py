"""The error documents that failed runs carry: code, message, remedy, and faults where there are several.

They are stored and shown, so they hold nothing of the data: messages of the product's own errors do
not by rule, and of any other exception only its type is told.
"""

from __future__ import annotations

from dataclasses import asdict

from app.domain.errors import InvalidInput, PrivacyRiskError
from app.services.resources import JsonObject

MIB = 1024**2


def problem_of(error: PrivacyRiskError) -> JsonObject:
    """The document of an error that the product raised on purpose."""
    document = _document(error.code, error.message, error.remedy)
    if isinstance(error, InvalidInput):
        document["errors"] = [asdict(fault) for fault in error.faults]
    return document


def internal_error(error: Exception) -> JsonObject:
    """The document of an error that nobody foresaw: its type, for its message may quote the data."""
    return _document(
        "internal-error",
        f"The work ended with an unforeseen error ({type(error).__name__}).",
        "Report it with the id of the run.",
    )


def memory_limit(limit_bytes: int) -> JsonObject:
    """The document of a run that asked for more memory than a run may have."""
    return _document(
        "memory-limit",
        f"The work needs more memory than the limit of {limit_bytes // MIB} MiB for one run.",
        "Use fewer or more general attributes, or have the operator raise the limit.",
    )


def time_limit(seconds: float) -> JsonObject:
    """The document of a run that took longer than a run may."""
    return _document(
        "time-limit",
        f"The work took longer than the limit of {seconds:g} s for one attempt.",
        "Use fewer attributes, give the search a budget, or have the operator raise the limit.",
    )


def worker_lost(times: int) -> JsonObject:
    """The document of a run whose processes, or workers, died so often that nobody tries again."""
    return _document(
        "worker-lost",
        f"The process that did the work died {times} times.",
        "Create the work again; if that fails too, report it with the id of the run.",
    )


def _document(code: str, message: str, remedy: str) -> JsonObject:
    return {"code": code, "message": message, "remedy": remedy}
