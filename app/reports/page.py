"""Evidence as a page to read and print, made from the report's bytes alone.

The page loads nothing, runs nothing, and has one stylesheet whose hash the content policy names. It carries
the hash of the report and is not itself evidence; that the signature is right is for ``verify`` to say.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.evidence.envelope import opened
from app.evidence.statement import statement_of
from app.evidence.verification import PAGE_MARK
from app.evidence.withdrawal import withdrawal_of
from app.reports import assessment_sections, verdict_sections
from app.reports.numbers import number, records

_FOLDER: Final = Path(__file__).parent / "templates"
_STYLE: Final = (_FOLDER / "report.css").read_text(encoding="utf-8")
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
PAGE_POLICY: Final = f"{_POLICY}; frame-ancestors 'none'"
"""The content policy to serve the page with; the page itself repeats what of it a saved file can say."""

_SECTIONS: Final = {"verdict": verdict_sections.sections, "assessment": assessment_sections.sections}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "records": records}
    return environment


def render_page(report: bytes, revoked_because: str | None = None) -> str:
    """The page of a report; an EvidenceError if the bytes are not a report's. Signatures are not checked."""
    envelope = opened(report)
    statement = statement_of(envelope.content)
    predicate: dict[str, Any] = statement.predicate
    withdrawal = envelope.withdrawal
    withdrawn_at = None if withdrawal is None else withdrawal_of(opened(withdrawal).content).withdrawn_at
    return _environment().get_template(f"{statement.report}.html").render(
        **_SECTIONS[statement.report](predicate),
        report={"files": (), "asked_by": None} | predicate,
        signed_by=statement.signed_by,
        issued_at=statement.issued_at,
        subjects=statement.subjects,
        sha256=envelope.sha256,
        withdrawn_at=withdrawn_at,
        revoked_because=revoked_because,
        key_id=envelope.key_id,
        mark=PAGE_MARK,
        policy=_POLICY,
        style=Markup(_STYLE),  # noqa: S704 - our own file
    )  # fmt: skip
