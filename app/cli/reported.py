"""The question that a report answers, as far as the report says it; the rest has to be given.

A report shows no values: a policy, a rule or options that name some are in it only by their hash or in part.
Whether what it states is whole is told by hashing that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from app.cli.gate_question import Subject, checked_name
from app.cli.tables_file import Json
from app.domain.errors import InvalidInput
from app.services.fingerprints import resource_sha256
from app.services.resources import Kind

TRUE_DICTIONARY: Final = "true_dictionary"
"""What the dictionary that the attacker is believed to have goes under, beside the slots."""


def question_of(then: Json, given: Subject, held: bool) -> Subject:
    """What is asked again: what is given, then what the report states whole.

    Of a stored dataset everything may be stored, too: what is not given is taken by the name that the report
    has for it. ``held`` says that a server is asked. InvalidInput for whatever neither of them says.
    """
    stated = then["parameters"]
    if ("views" in then["parameters"]) != (given.views is not None):
        raise InvalidInput.of(
            "--views", "other-question",
            "The report is about views." if given.views is None else "The report is not about views.",
            "Give --views and --relational-schema." if given.views is None else "Leave --views out.",
        )  # fmt: skip
    if given.views is not None:
        return given
    _require_described(then, given, held)
    by_name = isinstance(given.dataset, str)
    asked = _with_form(given, then, by_name)
    if not by_name:
        return asked
    names = dict(stated["dictionaries"])
    true = (stated.get("bounds") or {}).get(TRUE_DICTIONARY)
    if true is not None:
        names[TRUE_DICTIONARY] = true
    named = {slot: checked_name(name, f"--dictionary {slot}") for slot, name in names.items()}
    return replace(
        asked,
        dictionaries={**named, **asked.dictionaries},
        sensitivity=asked.sensitivity or _stated_name(stated, "sensitivity"),
        failure=asked.failure or _stated_name(stated, "failure"),
    )


def require_answerable(then: Json, body: Json) -> None:
    """InvalidInput for what the report rests on and the request lacks; it would be another question."""
    stated = then["parameters"]
    for slot in stated["dictionaries"]:
        if slot not in body["dictionaries"]:
            raise _missing(f"--dictionary {slot}", f"a dictionary in the slot {slot}")
    true = (stated.get("bounds") or {}).get(TRUE_DICTIONARY)
    if true is not None and TRUE_DICTIONARY not in body["dictionaries"]:
        raise _missing("--true-dictionary", "the dictionary that the attacker is believed to have")
    for role in ("sensitivity", "failure"):
        if stated[role] is None:
            body.pop(role, None)
        elif body.get(role) is None:
            raise _missing(f"--{role}", f"a profile of {role}")


def stated_policy(then: Json) -> Json | None:
    """The policy that the report holds; None if it leaves out values that the policy names."""
    policy = then["policy"]
    if not isinstance(policy, dict):
        raise InvalidInput.of("report", "malformed", "The report of a verdict holds no policy.")
    meaning = {key: value for key, value in policy.items() if key != "name"}
    whole = resource_sha256(Kind.POLICY, meaning, {}) == _hash_of(then, "policy")
    return policy if whole else None


def in_the_datasets_order(then: Json, schema: object) -> object:
    """A policy's schema with its columns in the order in which the report tells of the dataset's.

    Reports are written with their keys sorted, and a dataset is another one if its columns are in another
    order. Columns of which the report does not tell come last, as they stand.
    """
    roles = schema.get("attributes") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or not isinstance(roles, Mapping):
        return schema
    told = [own["name"] for own in (then["result"].get("coverage") or {}).get("columns", ())]
    names = dict.fromkeys([*(name for name in told if name in roles), *roles])
    return {**schema, "attributes": {name: roles[name] for name in names}}


def stated_options(then: Json, utility: Json | None) -> Json:
    """The options of an assessment, with the utility where that names values, which the report leaves out."""
    options: Json = then["parameters"]["options"]
    if utility is not None:
        return {**options, "utility": utility}
    shown = options.get("utility")
    if isinstance(shown, Mapping) and shown.get("values"):
        raise _missing("--utility", "a utility of its own, whose values it leaves out")
    return options


def is_of_stored_release(then: Json) -> bool:
    """Whether the report is about a release that a server made, rather than about a file or a rule."""
    return "name" in (then["parameters"].get("release") or {})


def require_server(then: Json, held: bool) -> None:
    """InvalidInput if the report is about what only the server has that made it."""
    if is_of_stored_release(then) and not held:
        raise _on_a_server("a release that a service has made and keeps", "--server URL")


def _with_form(given: Subject, then: Json, by_name: bool) -> Subject:
    """The subject with the release file or the rule that the report is about."""
    release, rule = then["parameters"].get("release"), then["parameters"].get("rule")
    if is_of_stored_release(then):
        if given.rule is not None or given.release is not None or not by_name:
            raise InvalidInput.of(
                "--release", "other-question", "The report is about a release that a server made.",
                "Name it by --stored-release, if it has another name there.",
            )  # fmt: skip
        return replace(
            given, stored_release=given.stored_release or checked_name(release["name"], "--stored-release")
        )
    if given.stored_release is not None:
        raise InvalidInput.of(
            "--stored-release", "other-question", "The report is not about a release that a server made."
        )
    if release is not None:
        if given.rule is not None:
            raise InvalidInput.of(
                "--rule", "other-question", "The report is about a release file, not a rule."
            )
        if given.release is None and not by_name:
            raise _missing("--release", "a release file")
        upload = given.release or checked_name(release["upload"], "--release")
        # Reports that say nothing of an order are of files without a key that had to keep the records' order.
        before = "records" if release["key"] is None else None
        order = given.order or release.get("order", before)
        return replace(given, release=upload, key=given.key or release["key"], order=order)
    if given.release is not None:
        raise InvalidInput.of(
            "--release", "other-question", "The report is about a rule, not a release file."
        )
    if given.rule is not None or rule is None:
        return given
    whole = _stated_rule(then, rule, by_name)
    if whole is None and by_name and rule.get("name") is not None:
        return replace(given, rule=checked_name(rule["name"], "--rule"))
    if whole is None:
        raise InvalidInput.of(
            "--rule", "missing", "The report holds its rule by its hash only.", "Give the rule by --rule."
        )
    return replace(given, rule=whole)


def _stated_rule(then: Json, rule: Json, by_name: bool) -> Json | None:
    """The definition of the rule, if levels and classes to suppress that the report states are all of it."""
    # Rules know the searches, which take seconds to load: other commands need none of it.
    from app.domain.models.class_suppression import ALL_ATTRIBUTES
    from app.services.rules.rule_documents import (
        DICTIONARY,
        MEANING,
        ORDER,
        SUPPRESSION,
        SUPPRESSION_KEYS,
        TABLE_LEVEL,
        rule_sha256,
    )

    if not isinstance(rule.get("levels"), Mapping):
        return None
    suppression = {key: rule[key] for key in (*SUPPRESSION_KEYS, ORDER) if rule.get(key) is not None}
    if SUPPRESSION in suppression:
        # Reports made before there was a second meaning say none.
        suppression[MEANING] = rule.get(MEANING) or ALL_ATTRIBUTES
    definition: Json = {"kind": TABLE_LEVEL, "levels": dict(rule["levels"]), **suppression}
    if rule.get(DICTIONARY) is not None:
        if _may_leave_out_values(definition):
            return None
        # Its hash is of those whom it suppresses, too: whether they are the same, the results say.
        return {**definition, DICTIONARY: _slot_of(then, rule[DICTIONARY], by_name)}
    return definition if rule_sha256(definition, _hash_of(then, "dataset")) == rule["sha256"] else None


def _may_leave_out_values(definition: Json) -> bool:
    """Whether a criterion by which the rule suppresses may name values, which reports leave out."""
    from app.domain.models.criteria import CRITERIA
    from app.services.datasets.cell_values import names_cell_values
    from app.services.rules.rule_documents import SUPPRESSION_OF_FAILING

    kinds = {own["kind"] for own in definition[SUPPRESSION_OF_FAILING]}
    return any(names_cell_values(own) for own in CRITERIA if own.kind in kinds)


def _slot_of(then: Json, dictionary: str, by_name: bool) -> str:
    """The slot that the rule's dictionary fills; its own name, which a server knows, if it fills none."""
    for slot, name in then["parameters"]["dictionaries"].items():
        if name == dictionary:
            return str(slot)
    if by_name:
        return checked_name(dictionary, "--rule")
    raise InvalidInput.of(
        "--rule",
        "needs-server",
        f"The rule of the report compares its classes with the dictionary {dictionary!r}, which fills no "
        "slot: no option gives its file.",
        "Recompute the report on a service that holds it: --server URL --dataset-id NAME.",
    )


def _require_described(then: Json, given: Subject, held: bool) -> None:
    """InvalidInput for what the report rests on and no file describes, unless a server holds it."""
    for own in then["inputs"]:
        if own["role"] == "released_rule" and not held:
            raise _on_a_server("what was released before", "--server URL")
        filled = given.dictionaries.get(own.get("slot") or "")
        if own["role"] == "dictionary_set" and not isinstance(filled or given.dataset, str):
            raise _on_a_server("a set of dictionaries", f"--server URL --dictionary {own['slot']}=NAME")


def _on_a_server(what: str, options: str) -> InvalidInput:
    return InvalidInput.of(
        "report",
        "needs-server",
        f"The report rests on {what}, which no file describes.",
        f"Recompute it on a service that holds it: {options}.",
    )


def _hash_of(then: Json, role: str) -> str:
    found = [str(own["sha256"]) for own in then["inputs"] if own["role"] == role]
    return found[0] if found else ""


def _stated_name(stated: Json, role: str) -> str | None:
    name = stated[role]
    return None if name is None else checked_name(name, f"--{role}")


def _missing(option: str, what: str) -> InvalidInput:
    return InvalidInput.of(
        option, "missing", f"The report rests on {what}.", f"Give it by {option.split()[0]}."
    )
