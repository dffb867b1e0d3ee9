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

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class MalformedReport(EvidenceError):
    """The bytes are not the canonical serialisation of an envelope."""

    code = "malformed-report"


class WrongPayloadType(EvidenceError):
    """The envelope says that it holds something else."""

    code = "wrong-payload-type"


class UnknownKey(EvidenceError):
    """Nobody whom the key set names has signed it."""

    code = "unknown-key"


class WrongSignature(EvidenceError):
    """The signature is not of this content by this key."""

    code = "wrong-signature"


class OutsideKeyValidity(EvidenceError):
    """The key was not in force when the report was issued."""

    code = "outside-key-validity"


class MalformedStatement(EvidenceError):
    """The signed content is not a statement about a verdict or an assessment."""

    code = "malformed-statement"


class OtherReport(EvidenceError):
    """A readable page does not carry the hash of the report."""

    code = "other-report"


class MalformedKeys(EvidenceError):
    """The key set is not one, or contradicts itself."""

    code = "malformed-keys"


class MalformedPrivateKey(EvidenceError):
    """A text or file is no private key that reports can be signed with."""

    code = "malformed-signing-key"
