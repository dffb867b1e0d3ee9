"""What came of a gate: a verdict with its evidence, or the fault that prevented one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.cli.gate_verdict import FAULT, Json, Verdict
from app.evidence.statement import SignedBy


@dataclass(frozen=True)
class Kept:
    """What is left of the evidence: whose key signed it, where it was written, and the key beside it."""

    signed_by: SignedBy
    report: Path | None = None
    keys: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """What a pipeline is told.

    Attributes
    ----------
    policy
        The policy as it was named: a file or a name.
    subject
        What was judged as it was named: the dataset or the release file.
    verdict
        None if there is none, and ``fault`` says why.
    evaluation
        Name of the evaluation; a server stores it.
    evidence
        Its evidence: ``id`` (None without a server, which would hold it) and ``sha256``.
    kept
        Where the evidence is; None without any.
    """

    policy: str
    subject: str
    verdict: Verdict | None
    fault: str | None = None
    evaluation: str | None = None
    evidence: Json | None = None
    kept: Kept | None = None

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
