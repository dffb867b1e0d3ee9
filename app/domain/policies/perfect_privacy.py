"""What can be said of secrets that views must not disclose, and of two requirements about such secrets.

Whether the queries make sense is told by whatever reads them; here they are texts.
"""

from __future__ import annotations

from app.domain.policies.findings import Findings
from app.domain.policies.policy import PerfectPrivacyCondition, Policy
from app.domain.policies.reasons import is_reason

_REMEDY = "Put them into a policy of their own: a verdict is about a release, or about views."


def check_secrets(condition: PerfectPrivacyCondition, pointer: str, found: Findings) -> None:
    """Note secrets that are named alike or without a reason, and keys that are ignored without one."""
    if condition.keys == "ignored" and not is_reason(condition.keys_reason or ""):
        found.error(
            f"{pointer}/keys_reason", "missing-reason", "Keys are ignored without a reason.",
            "Say why readers do not know that no two rows share a key, or leave keys out.",
        )  # fmt: skip
    if condition.keys == "considered" and condition.keys_reason is not None:
        found.error(
            f"{pointer}/keys_reason", "needless-reason", "A reason is given, and keys are considered.",
            "Leave the reason out, or ignore keys.",
        )  # fmt: skip
    names = [own.id for own in condition.secrets]
    for number, own in enumerate(condition.secrets):
        at = f"{pointer}/secrets/{number}"
        if own.id in names[:number]:
            found.error(
                f"{at}/id", "duplicate", f"There is another {own.id!r} before it.", "Give every one its own."
            )
        for name, is_there in (("id", bool(own.id.strip())), ("reason", is_reason(own.reason))):
            if not is_there:
                found.error(
                    f"{at}/{name}", f"missing-{name}", f"The {name} is empty.",
                    "Say why the answer is secret, and from whom.",
                )  # fmt: skip


def check_subjects(policy: Policy, found: Findings) -> None:
    """Note what a policy about views holds that is about releases: no verdict could be about both."""
    if not policy.judges_views:
        return
    for number, own in enumerate(policy.requirements):
        if not isinstance(own.condition, PerfectPrivacyCondition):
            found.error(
                f"/requirements/{number}/condition", "mixed-subjects",
                "The policy requires perfect privacy of views, and this requirement is about a release of "
                "data.",
                _REMEDY,
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


def as_private(old: PerfectPrivacyCondition, new: PerfectPrivacyCondition) -> bool:
    """Whether it is plain that views which meet the new condition meet the old one.

    They do if every secret is still one, in the same words, and foreign keys still count. Keys left out are
    another question, which is neither stricter nor looser: a key can also make a view private.
    """
    if (old.language, old.dialect, old.keys) != (new.language, new.dialect, new.keys):
        return False
    if new.ignore_foreign_keys and not old.ignore_foreign_keys:
        return False
    kept = {own.query for own in new.secrets}
    return all(own.query in kept for own in old.secrets)
