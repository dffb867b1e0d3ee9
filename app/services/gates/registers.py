"""Who answers for the dictionaries of slots: what attackers know is not said by who asks for a pass."""

from __future__ import annotations

from typing import Final, Literal

from app.domain.errors import Fault
from app.domain.policies.reasons import is_reason
from app.services.gates.subject import Subject

AnsweredBy = Literal["policy", "any", "govern", "before", "nobody"]
"""The policy pins it, or takes ``any`` with a reason; a key with the scope govern named it; the policy is of
``before``, when nobody had to answer for it; or nobody does.
"""

ANY_AS_BEFORE: Final = (
    "The policy keeps an earlier version of what is checked before any requirement: it takes any dictionary. "
    "A new version of the policy pins it, or leaves it to keys with the scope govern."
)


def answer_for(subject: Subject, slot: str) -> tuple[AnsweredBy, str]:
    """Who answers for the dictionary that fills the slot, and what a verdict says of that."""
    register, stored = subject.registers[slot], subject.dictionaries[slot]
    if register is None and subject.policy.takes_any_register:
        return "before", ANY_AS_BEFORE
    if register is None:
        if subject.is_filled_by_govern:
            return "govern", f"A key with the scope govern named the dictionary {stored.name!r} for {slot!r}."
        return "nobody", f"Only who asks answers for the dictionary {stored.name!r} that fills {slot!r}."
    if register.any is not None:
        if is_reason(register.any):
            return "any", f"Any dictionary may fill {slot!r}: {register.any}"
        return "nobody", f"Nobody has written why any dictionary may fill {slot!r}."
    # Its hash is all that it means; under which name it is stored here is not.
    if register.sha256 == stored.sha256:
        return "policy", f"The policy says which dictionary fills {slot!r}: {stored.name!r}."
    return "nobody", f"The dictionary {stored.name!r} is not the one that the policy pins for {slot!r}."


def doubt_about_registers(subject: Subject) -> Fault | None:
    """Why nothing can be judged by what attackers are said to know; None where somebody answers for it."""
    for slot, stored in sorted(subject.dictionaries.items()):
        by, said = answer_for(subject, slot)
        if by == "nobody":
            return Fault(
                f"/dictionaries/{slot}", "register-not-answered-for", said,
                "Have a key with the scope govern ask; or pin it in a new version of the policy, register: "
                f"{{name: {stored.name}, sha256: {stored.sha256}}}; or say there register: {{any: REASON}}.",
            )  # fmt: skip
    return None
