"""What keys tell a reader of a pair that is private with the keys left out.

Rows that share a key and differ exclude each other: where they decide the two answers, that is certain
exclusion. Rows that share no key can still be dependent, because exclusions chain, and a belief can rise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from app.domain.views.decision import PairVerdict, decide
from app.domain.views.normal_form import Branch
from app.domain.views.relational_schema import RelationalSchema

KeysAdd = Literal["nothing", "certain_exclusion", "dependence_of_unknown_direction", "not_decided"]


def what_keys_add(
    considered: PairVerdict,
    secret: Sequence[Branch],
    view: Sequence[Branch],
    schema: RelationalSchema,
    is_late: Callable[[], bool] = lambda: False,
) -> tuple[KeysAdd, PairVerdict]:
    """What keys add to a pair that is private without them, and the verdict that proves it.

    ``considered`` is the pair's verdict with the keys. No row decides both answers, since none does without
    keys: of every example the two deciding rows differ.
    """
    if considered.witness is None or considered.verdict != "DISCLOSES":
        return ("nothing" if considered.verdict == "PRIVATE" else "not_decided"), considered
    relation = schema.relations[considered.witness.secret.deciding.relation]
    if relation.block in relation.keys:  # rows of one block share it
        return "certain_exclusion", considered
    verdicts = set()
    for tied in schema.tied_by_one_key({name for own in (*secret, *view) for name in own.normal.relations}):
        found = decide(secret, view, tied, ignore_foreign_keys=True, is_late=is_late)
        if found.verdict == "DISCLOSES":
            return "certain_exclusion", found
        verdicts.add(found.verdict)
    return ("not_decided" if "UNKNOWN" in verdicts else "dependence_of_unknown_direction"), considered
