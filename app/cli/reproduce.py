"""``reproduce``: computes a report again from its inputs and says whether it comes out the same."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.cli.files import read_bounded, stored_name
from app.cli.gate import guarded
from app.cli.gate_loading import Loading
from app.cli.gate_question import (
    Subject,
    add_subject_arguments,
    checked_name,
    file_or_name,
    given_subject,
    policy_of,
)
from app.cli.gate_service import Gate, service_client, told_of
from app.cli.operations import Operations
from app.cli.plain_lines import plain_line
from app.cli.recomputed import differences, versions
from app.cli.reported import (
    TRUE_DICTIONARY,
    in_the_datasets_order,
    question_of,
    require_answerable,
    require_server,
    stated_options,
    stated_policy,
)
from app.cli.structured_files import read_structured
from app.cli.tables_file import Json
from app.domain.errors import InvalidInput
from app.evidence.envelope import opened
from app.evidence.faults import EvidenceError
from app.evidence.keys import read_keys
from app.evidence.statement import Statement, statement_of
from app.evidence.verification import verify
from app.evidence.withdrawal import Withdrawal, withdrawal_of
from privacy_risk import Client, ProblemError

SAME, DIFFERS = 0, 1


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "reproduce",
        description="Compute a signed report again from the inputs that it names. Exit status: 0 hashes, "
        "integers and verdicts are equal and reals agree to 1e-12; 1 something differs; 2 it cannot be told.",
    )
    parser.add_argument("report", type=Path, help="the signed report, as the service answered it")
    parser.add_argument("--keys", type=Path, metavar="FILE", help="check its signature too, by these keys")
    parser.add_argument(
        "--policy", metavar="FILE|NAME", help="the policy, where the report leaves out values that it names"
    )
    add_subject_arguments(parser)
    parser.add_argument(
        "--true-dictionary",
        metavar="FILE|NAME",
        help="what the attacker is believed to have, where the report says whether the risk is a bound",
    )
    parser.add_argument(
        "--utility", type=Path, metavar="FILE", help="the utility, where the report leaves out its values"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Recompute and compare."""
    return guarded(lambda: _run(arguments, operations))


def _run(arguments: argparse.Namespace, operations: Operations) -> int:
    statement = _statement(arguments.report, arguments.keys)
    then, held = statement.predicate, arguments.server is not None
    require_server(then, held)
    named = (arguments.dataset, arguments.dataset_id, arguments.tables, arguments.query, arguments.views)
    if held and not any(named) and then["parameters"]["dataset"] is not None:
        arguments.dataset_id = then["parameters"]["dataset"]
    with given_subject(arguments) as given:
        return _recomputed(arguments, operations, statement, given)


def _recomputed(
    arguments: argparse.Namespace, operations: Operations, statement: Statement, given: Subject
) -> int:
    then, held = statement.predicate, arguments.server is not None
    if arguments.true_dictionary is not None:
        true = file_or_name(arguments.true_dictionary, "--true-dictionary", held)
        given = replace(given, dictionaries={**given.dictionaries, TRUE_DICTIONARY: true})
    utility = None if arguments.utility is None else read_structured(arguments.utility)
    policy = None if arguments.policy is None else policy_of(arguments.policy, held)
    subject = question_of(then, given, held)
    with service_client(arguments.server, operations) as client:
        if then["report"] == "assessment":
            envelope = _assessed(client, then, subject, stated_options(then, utility))
        else:
            envelope = _judged(client, then, subject, policy or _policy(client, then, held))
    now = statement_of(opened(envelope).content).predicate
    changed = differences(then, now)
    about = f"{statement.report} {statement.predicate['resource']['name']!r}"
    lines = [
        f"{'Differs' if changed else 'Same'}: {about} of {statement.predicate['issued_at']}",
        *(f"  {line}" for line in changed),
        *(f"  computed by other versions: {line.removeprefix('service/')}" for line in versions(then, now)),
    ]
    for line in lines:
        print(plain_line(line))
    sys.stdout.flush()
    return DIFFERS if changed else SAME


def _statement(path: Path, keys: Path | None) -> Statement:
    """What the report says; InvalidInput if it cannot be read or is not believed."""
    content = read_bounded(path)
    try:
        if keys is not None:
            verified = verify(content, read_keys(read_bounded(keys)))
            if not verified.proves_origin:
                print("The report is unaltered; who signed it is not proven.", file=sys.stderr)
            _require_given_out(verified.withdrawal)
            return verified.statement
        print("The signature is not checked: no --keys were given.", file=sys.stderr)
        envelope = opened(content)
        if envelope.withdrawal is not None:
            _require_given_out(withdrawal_of(opened(envelope.withdrawal).content))
        return statement_of(envelope.content)
    except EvidenceError as error:
        raise InvalidInput.of(str(path), error.code, error.message, error.remedy) from error


def _require_given_out(withdrawal: Withdrawal | None) -> None:
    """InvalidInput if the release was withdrawn when the report was got."""
    if withdrawal is not None:
        raise InvalidInput.of(
            "report",
            "withdrawn",
            f"The release was withdrawn on {withdrawal.withdrawn_at:%Y-%m-%d}: its table is not given out "
            "any more, and nothing can be measured in it again.",
            "Whether the report is genuine is told by verify.",
        )


def _judged(client: Client, then: Json, subject: Subject, policy: Json | str) -> bytes:
    """The evidence of the verdict on the same question, asked now."""
    schema = (policy if isinstance(policy, dict) else then["policy"]).get("schema")
    body = _body(client, then, subject, in_the_datasets_order(then, schema))
    gate = Gate(client, lambda progress: None)
    with told_of(subject):
        return client.evaluations.evidence(gate.ask(gate.store(policy), body).id)


def _policy(client: Client, then: Json, held: bool) -> Json | str:
    """The policy of that name and version that the server holds, or else that of the report.

    A policy whose values the report leaves out is never stored in the place of the whole one.
    """
    stated = stated_policy(then)
    if held:
        name, version = then["policy"].get("name"), then["policy"].get("version")
        ref = checked_name(f"{name}@{version}", "--policy")
        try:
            return client.policies.get(ref).name
        except ProblemError as problem:
            if problem.status != 404:
                raise
    if stated is None:
        raise InvalidInput.of(
            "--policy", "missing", "The report leaves out values that its policy names.",
            "Give the policy itself by --policy.",
        )  # fmt: skip
    return stated


def _assessed(client: Client, then: Json, subject: Subject, options: Json) -> bytes:
    """The evidence of the score of the same question, asked now."""
    body = _body(client, then, subject, None)
    filled = body.pop("dictionaries")
    (slot,) = then["parameters"]["dictionaries"]
    question: dict[str, Any] = {**options, **body, "dictionary": filled[slot]}
    bounds = then["parameters"].get("bounds")
    if bounds is not None:
        question["bounds"] = {TRUE_DICTIONARY: bounds[TRUE_DICTIONARY] and filled[TRUE_DICTIONARY]}
    named = {"name": stored_name("reproduced", question), **question}
    return client.assessments.evidence(client.assessments.answer(named).id)


def _body(client: Client, then: Json, subject: Subject, schema: object) -> Json:
    """What is asked, with everything that it is about on the service."""
    slots = [{"name": slot} for slot in then["parameters"]["dictionaries"]]
    body = Loading(client).body(subject, {"schema": schema, "dictionaries": slots})
    require_answerable(then, body)
    return body
