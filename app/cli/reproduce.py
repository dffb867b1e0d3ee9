"""``reproduce``: computes a report again from its inputs and says whether it comes out the same."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.cli.gate import guarded
from app.cli.gate_loading import Loading, stored_name
from app.cli.gate_question import Subject, add_subject_arguments, policy_of, subject_of
from app.cli.gate_service import Gate, service_client
from app.cli.journey import Json
from app.cli.operations import Operations
from app.cli.recomputed import differences, versions
from app.client import Client, ProblemError
from app.domain.errors import InvalidInput
from app.evidence.envelope import opened
from app.evidence.faults import EvidenceError
from app.evidence.keys import read_keys
from app.evidence.statement import Statement, statement_of
from app.evidence.verification import verify

SAME, DIFFERS = 0, 1


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "reproduce",
        help="compute a report again from its inputs: exit status 0 same, 1 differs, 2 cannot be told",
        description="Compute a signed report again from the inputs that it names. Exit status: 0 hashes, "
        "integers and verdicts are equal and reals agree to 1e-12; 1 something differs; 2 it cannot be told.",
    )
    parser.add_argument("report", type=Path, help="the signed report, as the service answered it")
    parser.add_argument("--keys", type=Path, metavar="FILE", help="check its signature too, by these keys")
    parser.add_argument(
        "--policy", metavar="FILE|NAME", help="the policy, where the report leaves out values that it names"
    )
    add_subject_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Recompute and compare."""
    return guarded(lambda: _run(arguments, operations))


def _run(arguments: argparse.Namespace, operations: Operations) -> int:
    statement = _statement(arguments.report, arguments.keys)
    then, subject = statement.predicate, subject_of(arguments)
    if then["parameters"].get("failure") is not None:
        raise InvalidInput.of(
            "failure", "not-reproducible", "The report rests on a failure profile, which no file describes.",
            "Recompute it on the service that issued it.",
        )  # fmt: skip
    policy: Json | str | None = then["policy"]
    if arguments.policy is not None:
        policy = policy_of(arguments.policy, arguments.server is not None)
    subject = _with_rule(subject, then)
    with service_client(arguments.server, operations) as client:
        envelope = _recomputed(client, then, subject, policy)
    now = statement_of(opened(envelope).content).predicate
    return _told(statement, differences(then, now), versions(then, now))


def _statement(path: Path, keys: Path | None) -> Statement:
    """What the report says; InvalidInput if it cannot be read or is not believed."""
    content = path.read_bytes()
    try:
        if keys is not None:
            return verify(content, read_keys(keys.read_bytes())).statement
        print("The signature is not checked: no --keys were given.", file=sys.stderr)
        return statement_of(opened(content).content)
    except EvidenceError as error:
        raise InvalidInput.of(str(path), error.code, error.message, error.remedy) from error


def _with_rule(subject: Subject, then: Json) -> Subject:
    """The subject with the rule that the report states whole, where the command names none."""
    stated = then["parameters"].get("rule")
    if subject.rule is not None or subject.release is not None or stated is None:
        return subject
    kind, levels = stated.get("kind"), stated.get("levels")
    rest = {key for key, value in stated.items() if value is not None} - {"name", "kind", "levels", "sha256"}
    if kind == "identity" and not rest:
        return subject
    if kind == "table_level" and isinstance(levels, Mapping) and not rest:
        return Subject(**{**vars(subject), "rule": {"kind": kind, "levels": dict(levels)}})
    raise InvalidInput.of(
        "--rule", "missing", "The report holds its rule by its hash only.", "Give the rule by --rule."
    )


def _recomputed(client: Client, then: Json, subject: Subject, policy: Json | str | None) -> bytes:
    """The evidence of the same question asked now."""
    parameters = then["parameters"]
    schema = policy.get("schema") if isinstance(policy, dict) else None
    slots = [{"name": slot} for slot in parameters["dictionaries"]]
    body = Loading(client).body(subject, {"schema": schema, "dictionaries": slots})
    if parameters["sensitivity"] is None:
        body.pop("sensitivity", None)
    if then["report"] == "assessment":
        return _assessed(client, then, body)
    if policy is None:
        raise InvalidInput.of("report", "malformed", "The report of a verdict holds no policy.")
    gate = Gate(client, lambda progress: None)
    try:
        ref = gate.store(policy)
    except ProblemError as problem:
        raise InvalidInput.of(
            "--policy",
            "not-usable",
            f"The policy cannot be stored as it stands: {problem}",
            "A report leaves out values that a policy names: give the policy itself by --policy.",
        ) from problem
    return client.evaluations.evidence(gate.ask(ref, body).id)


def _assessed(client: Client, then: Json, body: Json) -> bytes:
    parameters = then["parameters"]
    if parameters.get("bounds") is not None:
        raise InvalidInput.of(
            "bounds", "not-reproducible", "The report bounds the risk under a second dictionary.",
            "Recompute it on the service that issued it.",
        )  # fmt: skip
    (dictionary,) = body.pop("dictionaries").values()
    question: dict[str, Any] = {**parameters["options"], **body, "dictionary": dictionary}
    named = {"name": stored_name("reproduced", question), **question}
    try:
        assessment = client.assessments.create(named)
    except ProblemError as problem:
        if problem.code != "direct-budget-exceeded":
            raise
        client.runs.wait(client.assessments.start_run(named).id)
        assessment = client.assessments.get(named["name"])
    return client.assessments.evidence(assessment.id)


def _told(statement: Statement, changed: list[str], computed_by: list[str]) -> int:
    about = f"{statement.report} {statement.predicate['resource']['name']!r}"
    print(f"{'Differs' if changed else 'Same'}: {about} of {statement.predicate['issued_at']}")
    for line in changed:
        print(f"  {line}")
    for line in computed_by:
        print(f"  computed by other versions: {line.removeprefix('service/')}")
    sys.stdout.flush()
    return DIFFERS if changed else SAME
