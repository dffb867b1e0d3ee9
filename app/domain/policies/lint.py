"""All that can be said of a policy without data.

Errors are what makes a requirement impossible to evaluate or to meet; warnings what is allowed but
hardly meant. Whether the dataset has the attributes is told by an evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.documents import closest
from app.domain.analyses.catalogue import MEASURES
from app.domain.errors import joined
from app.domain.policies.condition import Condition
from app.domain.policies.findings import Checked, Findings, Lint
from app.domain.policies.policy import Policy, Requirement
from app.domain.policies.reasons import is_reason
from app.domain.policies.schema import PolicySchema


def lint(policy: Policy) -> Lint:
    """What is wrong with a policy, and what is unusual."""
    found = Findings()
    _check_texts(policy, found)
    _note_repeats([own.id for own in policy.requirements], "requirements", "id", found)
    _note_repeats([slot.name for slot in policy.dictionaries], "dictionaries", "name", found)
    for number, requirement in enumerate(policy.requirements):
        check_requirement(policy, requirement, f"/requirements/{number}", found)
    _check_together(policy, found)
    _check_attacked(policy, found)
    _check_subjects(policy, found)
    if not policy.judges_views:
        check_schema(policy, found)
    _check_slots(policy, found)
    _check_use(policy, found)
    _check_outline(policy, found)
    return found.lint(policy.format)


def _check_texts(policy: Policy, found: Findings) -> None:
    for pointer, text in (("/title", policy.title), ("/assumes/attacker", policy.assumes.attacker)):
        if not text.strip():
            found.error(
                pointer, "empty", "The text is empty.", "A verdict is worth what is known of its assumptions."
            )


def _note_repeats(names: Sequence[str], field: str, key: str, found: Findings) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            found.error(
                f"/{field}/{number}/{key}", "duplicate", f"There is another {name!r} before it.",
                "Give every one its own.",
            )  # fmt: skip


def check_requirement(policy: Policy, requirement: Requirement, pointer: str, found: Findings) -> None:
    """Note all that is wrong with a requirement that is at ``pointer``."""
    for name in ("title", "reason"):
        if not is_reason(getattr(requirement, name)):
            found.error(
                f"{pointer}/{name}", f"missing-{name}", f"The {name} has no word.",
                "Say why this number." if name == "reason" else "Say what must hold.",
            )  # fmt: skip
    condition: Condition = requirement.condition
    if condition.of_whole and not requirement.scope.is_everything:
        found.error(f"{pointer}/scope", "unsupported-scope", condition.of_whole, "Leave the scope out.")
    condition.check(Checked(policy, requirement, pointer, found))


def _check_attacked(policy: Policy, found: Findings) -> None:
    """Note blocking requirements on figures of a synthetic table beside no attack or guarantee that blocks.

    A table can be far from all records, and resemble them little, and give people away all the same.
    """
    judging = [
        (number, own.condition.synthetic_judge)
        for number, own in enumerate(policy.requirements)
        if own.severity == "block"
    ]
    if policy.is_certified or any(measure is not None and measure.protects for _, measure in judging):
        return
    attack = next(own.name for own in MEASURES if own.judges_synthetic and own.protects)
    for number, measure in judging:
        if measure is None:
            continue
        found.error(
            f"/requirements/{number}/severity", "stands-alone",
            f"{measure.name} alone lets nothing pass: a synthetic table can be far from every record, or "
            "resemble them little, and give people away all the same.",
            f"Say severity: warn, or require {attack}, or of drawn releases a guarantee, as well.",
        )  # fmt: skip


def _check_subjects(policy: Policy, found: Findings) -> None:
    """Note what a policy about views holds that is about releases: no verdict could be about both."""
    if not policy.judges_views:
        return
    for number, own in enumerate(policy.requirements):
        if not own.condition.is_of_views:
            found.error(
                f"/requirements/{number}/condition", "mixed-subjects",
                "The policy requires perfect privacy of views, and this requirement is about a release of "
                "data.",
                "Put them into a policy of their own: a verdict is about a release, or about views.",
            )  # fmt: skip
    for name, given in (
        ("schema", policy.schema),
        ("dictionaries", policy.dictionaries),
        ("not_covered", policy.not_covered),
    ):
        if given:
            found.error(
                f"/{name}", "mixed-subjects",
                f"The policy is about views, and {name} about releases of data.", "Leave it out.",
            )  # fmt: skip


def _check_together(policy: Policy, found: Findings) -> None:
    """Note requirements that contradict others or follow from others; those with errors are left out.

    A requirement is warned of once for each of the two, however many others there are to name: the number of
    warnings, which are kept with the policy, grows with that of the requirements and not of their pairs.
    """
    sound = [
        (number, own)
        for number, own in enumerate(policy.requirements)
        if not found.has_error_in(f"/requirements/{number}")
    ]
    for place, later in enumerate(sound):
        for earlier in sound[:place]:
            if earlier[1].scope == later[1].scope:
                _compare(found, earlier, later)


def _compare(found: Findings, earlier: tuple[int, Requirement], later: tuple[int, Requirement]) -> None:
    one: Condition = earlier[1].condition
    other: Condition = later[1].condition
    if type(one) is not type(other):
        return
    if not one.contradicts(other):
        _note_implied(found, earlier, later, other.as_strict_as(one), one.as_strict_as(other))
        return
    pointer, code = f"/requirements/{later[0]}/condition/threshold", "contradictory"
    both_block = earlier[1].severity == later[1].severity == "block"
    if both_block or not found.has_warning(pointer, code):
        (found.error if both_block else found.warn)(
            pointer, code, f"No release can meet both {earlier[1].id!r} and {later[1].id!r}.",
            "Change or leave out one of the two.",
        )  # fmt: skip


def _note_implied(
    found: Findings,
    earlier: tuple[int, Requirement],
    later: tuple[int, Requirement],
    later_implies: bool,
    earlier_implies: bool,
) -> None:
    """Note the one that follows from the other, if that one's failure blocks at least as much."""
    for (number, own), (_, other), implied in (
        (later, earlier, earlier_implies),
        (earlier, later, later_implies),
    ):
        if implied and (other.severity == "block" or own.severity == "warn"):
            if found.has_warning(f"/requirements/{number}", "implied"):
                return
            found.warn(
                f"/requirements/{number}", "implied", f"Who meets {other.id!r} meets {own.id!r} as well.",
                "Leave it out, or make it a requirement of its own.",
            )  # fmt: skip
            return


def _check_slots(policy: Policy, found: Findings) -> None:
    blocking = {
        name
        for own in policy.requirements
        if own.severity == "block" and getattr(own.condition, "dictionary", None) is not None
        for name in policy.slots_of(own.condition)
    }
    used = {name for own in policy.requirements for name in policy.slots_of(own.condition)}
    for number, slot in enumerate(policy.dictionaries):
        if slot.register is not None and slot.register.any is not None and not is_reason(slot.register.any):
            found.warn(
                f"/dictionaries/{number}/register/any", "missing-reason",
                "Nobody has written a reason: every verdict is an error until somebody does.",
                "Say in words why any dictionary may fill the slot, or pin one by name and sha256.",
            )  # fmt: skip
        if slot.name not in used:
            found.warn(
                f"/dictionaries/{number}", "unused-slot", f"No requirement looks at {slot.name!r}.",
                "Leave it out, or require something of it.",
            )  # fmt: skip
        elif not slot.required and slot.name in blocking:
            found.warn(
                f"/dictionaries/{number}/required", "optional-but-needed",
                f"A blocking requirement rests on {slot.name!r}: evaluations without it end in an error.",
                "Make it required.",
            )  # fmt: skip


def _check_use(policy: Policy, found: Findings) -> None:
    if policy.assumes.options and not any(own.condition.is_scored for own in policy.requirements):
        found.warn(
            "/assumes/options", "unused-options", "No requirement is scored: the options change nothing.",
            "Leave them out.",
        )  # fmt: skip
    if all(own.severity == "warn" for own in policy.requirements):
        found.warn(
            "/requirements", "never-blocks", "No requirement blocks: whatever can be computed passes.",
            "Let at least one requirement block.",
        )  # fmt: skip


def _check_outline(policy: Policy, found: Findings) -> None:
    known = {own.id for own in policy.requirements}
    _note_repeats([own.title for own in policy.outline], "outline", "title", found)
    for number, heading in enumerate(policy.outline):
        for place, id_ in enumerate(heading.requirements):
            if id_ not in known:
                found.error(
                    f"/outline/{number}/requirements/{place}", "unknown-requirement",
                    f"The policy has no requirement {id_!r}.", closest(id_, known),
                )  # fmt: skip


def check_schema(policy: Policy, found: Findings) -> None:
    """Note what is wrong or unusual in a policy's schema and in the columns that it lets pass unjudged."""
    schema = policy.schema
    if schema is None:
        found.warn(
            "/schema", "no-schema",
            "The policy has no schema: it takes the word of whoever describes the dataset for the role of "
            "every column.",
            "Write one: python -m app policy schema POLICY TABLE proposes a role for every column.",
        )  # fmt: skip
    else:
        _check_draft(schema, found)
    if policy.singled_out_share >= 1:
        found.warn(
            "/singled_out_share", "singles-out-everybody",
            "Columns that no requirement judges may single out every record.", "Give a share below 1.",
        )  # fmt: skip
    _check_exemptions(policy, found)


def _check_draft(schema: PolicySchema, found: Findings) -> None:
    if not schema.attributes:
        found.warn(
            "/schema/attributes", "draft-schema",
            "The schema names no column yet: every verdict is an error until it does.",
            "Fill it: python -m app policy schema POLICY TABLE proposes a role for every column.",
        )  # fmt: skip
    elif schema.to_confirm:
        found.warn(
            "/schema/to_confirm", "draft-schema",
            f"Nobody has confirmed the roles of: {', '.join(schema.to_confirm)}. Every verdict is an error "
            "until somebody does.",
            "Look at each column, put its role right and take its name off this list.",
        )  # fmt: skip
    persons = [name for name, role in schema.attributes.items() if role == "person"]
    if len(persons) + (schema.rows_are is not None) > 1:
        found.error(
            "/schema/rows_are" if schema.rows_are else joined("/schema/attributes", persons[1]),
            "second-person", "It is said twice whom a row is about.",
            "Give one column the role person, or say rows_are: persons and give it to none.",
        )  # fmt: skip
    for number, name in enumerate(schema.to_confirm):
        if name not in schema.attributes:
            found.error(
                f"/schema/to_confirm/{number}", "unknown-column",
                f"The schema gives {name!r} no role that could be confirmed.",
                "Give it one under attributes.",
            )  # fmt: skip
    for name in schema.columns.keys() - schema.attributes.keys():
        found.error(
            joined("/schema/columns", name), "unknown-column",
            f"It is said how {name!r} is read, and the schema gives it no role.",
            "Give it one under attributes, or leave it out here.",
        )  # fmt: skip


def _check_exemptions(policy: Policy, found: Findings) -> None:
    schema, seen = policy.schema, set[str]()
    for number, exemption in enumerate(policy.not_covered):
        at = f"/not_covered/{number}"
        if not is_reason(exemption.reason):
            found.warn(
                f"{at}/reason", "missing-reason",
                "Nobody has written a reason: every verdict is an error until somebody does.",
                "Say in words why the columns may leave although they single people out.",
            )  # fmt: skip
        for place, column in enumerate(exemption.columns):
            pointer = joined(f"{at}/columns", place)
            if column in seen:
                found.error(
                    pointer, "duplicate", f"The column {column!r} has a reason before it.", "Give one reason."
                )
            seen.add(column)
            given = None if schema is None else schema.role_of(column)
            if schema is not None and not schema.is_draft and (given is None or given[0] == "dropped"):
                found.error(
                    pointer, "wrong-role", f"By the policy's schema {column!r} is never released.",
                    "Leave it out, or give it a role.",
                )  # fmt: skip
