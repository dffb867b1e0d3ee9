"""What can be wrong with a report, a signature or a key set, as one tree.

::

    EvidenceError                 every reason not to believe a report; has code, message and remedy
    ├─ MalformedReport            it is not the one serialisation that a signed report has
    ├─ WrongPayloadType           the envelope holds something else than a statement
    ├─ UnknownKey                 it is signed by a key that the key set does not hold
    ├─ WrongSignature             content and signature do not belong together
    ├─ OutsideKeyValidity         it was issued before its key began or after it ended
    ├─ MalformedStatement         what is signed is not a statement of this kind
    ├─ OtherReport                the readable page was made from another report
    ├─ MalformedKeys              the key set cannot be used
    └─ MalformedPrivateKey        what is to be signed with is no key

Messages name what is wrong and never repeat the content of a report that is not believed.
"""

from __future__ import annotations

from typing import ClassVar


class EvidenceError(Exception):
    """Root of the tree; ``code`` is the stable name of the kind of fault."""

    code: ClassVar[str] = "evidence-error"

    def __init_subclass__(cls, code: str) -> None:
        cls.code = code

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class MalformedReport(EvidenceError, code="malformed-report"):
    """The bytes are not the canonical serialisation of an envelope."""


class WrongPayloadType(EvidenceError, code="wrong-payload-type"):
    """The envelope says that it holds something else."""


class UnknownKey(EvidenceError, code="unknown-key"):
    """Nobody whom the key set names has signed it."""


class WrongSignature(EvidenceError, code="wrong-signature"):
    """The signature is not of this content by this key."""


class OutsideKeyValidity(EvidenceError, code="outside-key-validity"):
    """The key was not in force when the report was issued."""


class MalformedStatement(EvidenceError, code="malformed-statement"):
    """The signed content is not a statement about a verdict or an assessment."""


class OtherReport(EvidenceError, code="other-report"):
    """A readable page does not carry the hash of the report."""


class MalformedKeys(EvidenceError, code="malformed-keys"):
    """The key set is not one, or contradicts itself."""


class MalformedPrivateKey(EvidenceError, code="malformed-signing-key"):
    """A text or file is no private key that reports can be signed with."""
