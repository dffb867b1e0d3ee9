"""What is signed: an in-toto Statement v1 about a verdict or an assessment.

Subjects are what the statement is about, by hash (the dataset, the rule or the release, the dictionaries);
the predicate is the report itself. Hashes of subjects are those of the product's resources: of their meaning,
not of a file. A release file has a further subject, ``file/NAME``, with the sha256 of its bytes, and if it is
a CSV file ``canonical/NAME``, with the sha256 of the one form that its cells have as CSV. The files that a
dataset or a dictionary came in are no subjects: what is judged is what would be released.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

from app.evidence.canonical import canonical_json, instant_of, parse_strictly
from app.evidence.faults import MalformedStatement

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
Report = Literal["verdict", "assessment"]
PREDICATE_TYPES: Final[dict[Report, str]] = {
    "verdict": "https://privacy-risk.dev/evidence/verdict/v1",
    "assessment": "https://privacy-risk.dev/evidence/assessment/v1",
}
PREDICATE_MEMBERS: Final = frozenset(
    {
        "report", "version", "issued_at", "service", "resource", "inputs", "parameters", "policy", "measures",
        "seeds", "hypotheses", "result", "tolerance",
    }
)  # fmt: skip
LATER_MEMBERS: Final = frozenset({"asked_by", "files", "signed_by"})
"""What reports say that older ones do not."""

VERDICTS: Final = ("pass", "fail", "error")

FILE_PREFIX: Final = "file/"
"""How the name of the subject begins that is a release file."""

CANONICAL_PREFIX: Final = "canonical/"
"""How the name of the subject begins that is the canonical form of a release file."""

RELEASE_PREFIX: Final = "release/"
"""How the name of the subject begins that is a release, be it a stored one or the upload of a file."""

SignedBy = Literal["service", "pipeline", "temporary"]
"""Whose key it is: a service's that stays, a pipeline's own, or one that was made for this report alone."""
SIGNED_BY: Final[tuple[SignedBy, ...]] = get_args(SignedBy)

_MEMBERS: Final = frozenset({"_type", "subject", "predicateType", "predicate"})
_HEX: Final = frozenset("0123456789abcdef")
_REMEDY: Final = "Use a newer release of this program, or get the report again from the service."


@dataclass(frozen=True)
class Subject:
    """One thing that the statement is about; ``name`` is unique within the statement."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Statement:
    """A statement; ``predicate`` is plain JSON with the members ``PREDICATE_MEMBERS``, and later ones."""

    report: Report
    subjects: tuple[Subject, ...]
    predicate: dict[str, Any]

    @property
    def issued_at(self) -> datetime:
        """When it was signed, by the service's clock."""
        return instant_of(self.predicate["issued_at"])

    @property
    def signed_by(self) -> SignedBy:
        """Whose key it was signed with, as it says itself; before reports said so it was a service's."""
        found: SignedBy = self.predicate.get("signed_by", "service")
        return found

    @property
    def files(self) -> dict[str, str]:
        """By the sha256 of each release file, judged and canonical ones, that of its canonical form.

        Of files that have none, such as Parquet, and in reports from before it was told, it is their own.
        """
        known = {own.name: own.sha256 for own in self.subjects}
        named = {
            name.removeprefix(FILE_PREFIX): own for name, own in known.items() if name.startswith(FILE_PREFIX)
        }
        canonical = {name: known.get(f"{CANONICAL_PREFIX}{name}", own) for name, own in named.items()}
        return {own: canonical[name] for name, own in named.items()} | {
            own: own for own in canonical.values()
        }

    @property
    def release(self) -> Subject | None:
        """The stored release that was judged, if it is one and no file or rule."""
        if "name" not in (self.predicate["parameters"].get("release") or {}):
            return None
        return next((own for own in self.subjects if own.name.startswith(RELEASE_PREFIX)), None)

    def to_bytes(self) -> bytes:
        """Its one serialisation, which is what is signed."""
        return canonical_json(
            {
                "_type": STATEMENT_TYPE,
                "subject": [{"name": own.name, "digest": {"sha256": own.sha256}} for own in self.subjects],
                "predicateType": PREDICATE_TYPES[self.report],
                "predicate": self.predicate,
            }
        )


def statement_of(content: bytes) -> Statement:
    """The statement of its serialisation; MalformedStatement for anything else."""
    try:
        document = parse_strictly(content)
        is_canonical = canonical_json(document) == content
    except (ValueError, RecursionError):
        is_canonical = False
    if not is_canonical:
        raise MalformedStatement("What is signed is not canonical JSON.", _REMEDY)
    if not isinstance(document, dict) or document.keys() != _MEMBERS or document["_type"] != STATEMENT_TYPE:
        raise MalformedStatement("What is signed is not an in-toto Statement v1.", _REMEDY)
    report = next((name for name, uri in PREDICATE_TYPES.items() if uri == document["predicateType"]), None)
    if report is None:
        known = " and ".join(PREDICATE_TYPES.values())
        raise MalformedStatement(f"The statement is of no kind known here: {known}.", _REMEDY)
    return Statement(report, _subjects_of(document["subject"]), _predicate_of(document["predicate"], report))


def _subjects_of(entries: object) -> tuple[Subject, ...]:
    well_formed = (
        isinstance(entries, list)
        and entries
        and all(
            isinstance(entry, dict)
            and entry.keys() == {"name", "digest"}
            and isinstance(entry["name"], str)
            and isinstance(entry["digest"], dict)
            and entry["digest"].keys() == {"sha256"}
            and is_sha256(entry["digest"]["sha256"])
            for entry in entries
        )
    )
    if not well_formed or not isinstance(entries, list):
        raise MalformedStatement("The statement does not name its subjects by their sha256.", _REMEDY)
    subjects = tuple(Subject(entry["name"], entry["digest"]["sha256"]) for entry in entries)
    if len({own.name for own in subjects}) < len(subjects):
        raise MalformedStatement("The statement names two subjects alike.", _REMEDY)
    return subjects


def _predicate_of(predicate: object, report: Report) -> dict[str, Any]:
    if not isinstance(predicate, dict) or predicate.keys() - LATER_MEMBERS != PREDICATE_MEMBERS:
        raise MalformedStatement("The report lacks members, or has some that are unknown here.", _REMEDY)
    if predicate["report"] != report or type(predicate["version"]) is not int or predicate["version"] != 1:
        raise MalformedStatement("The report is of another kind or version than the statement says.", _REMEDY)
    if predicate.get("signed_by", "service") not in SIGNED_BY:
        raise MalformedStatement("The report does not say whose key it was signed with.", _REMEDY)
    try:
        instant_of(predicate["issued_at"])
    except ValueError:
        raise MalformedStatement("The report does not say when it was issued.", _REMEDY) from None
    if not _names_what_it_found(predicate, report):
        raise MalformedStatement("The report does not say what it is about, or what was found.", _REMEDY)
    return predicate


def _names_what_it_found(predicate: dict[str, Any], report: Report) -> bool:
    """Whether readers can rely on a resource by name, inputs, and a result: of a verdict, by which policy."""
    inputs, resource, result = predicate["inputs"], predicate["resource"], predicate["result"]
    objects = (resource, result, predicate["parameters"], predicate["service"])
    if not (all(isinstance(own, dict) for own in objects) and isinstance(resource.get("name"), str)):
        return False
    if not (isinstance(inputs, list) and all(isinstance(own, dict) for own in inputs)):
        return False
    if report != "verdict":
        return True
    policy = result.get("policy")
    return (
        result.get("verdict") in VERDICTS
        and isinstance(policy, dict)
        and isinstance(policy.get("name"), str)
        and type(policy.get("version")) is int
        and is_sha256(policy.get("sha256"))
    )


def is_sha256(value: object) -> bool:
    """Whether it is 64 hexadecimal digits in lower case."""
    return isinstance(value, str) and len(value) == 64 and set(value) <= _HEX
