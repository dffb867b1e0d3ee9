"""What is known of a rule that was judged."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.classes.grouping import Bools
from app.domain.criteria.criterion import Floats
from app.domain.distinct import Longs


@dataclass(frozen=True, eq=False)
class Choice:
    """The classes that a rule may suppress for criteria of the whole table, beside those that it must.

    Of C classes that help, some have to go: in each array of ``surpluses`` at least ``above`` in sum.

    Attributes
    ----------
    necessary
        (d,) distinct records that the rule suppresses, whatever it chooses.
    of_row
        (d,) class of each distinct record, −1 for those whose classes help nobody.
    surpluses, above
        (C,) what each class takes away of a sum, and how much of that is too much; none where nothing is
        known of other sets of classes.
    by_size
        All surpluses are the greater the fewer records a class has: the smallest classes are the best to go
        for every loss that grows with nothing but the records of those that go.
    """

    necessary: Bools
    of_row: Longs
    surpluses: tuple[Floats, ...]
    above: tuple[float, ...]
    by_size: bool


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is known of a rule.

    Attributes
    ----------
    unavoidable
        Records that this rule and every more specific one suppress at least.
    suppressed
        Records that it suppresses; not all of them counted if ``unavoidable`` is too many.
    allowed
        It suppresses few enough, and what remains meets the criteria.
    withheld, lost
        (d,) distinct records that it suppresses, and that every more specific rule does; None: those of small
        classes, nothing else counting.
    more
        Records beside the ``lost`` ones that this rule and every more specific one suppress at least,
        whichever they are.
    choice
        What bounds the sets of classes that the rule might suppress instead; None if there is but one, or
        the rule may suppress no set.
    """

    unavoidable: int
    suppressed: int
    allowed: bool
    withheld: Bools | None = None
    lost: Bools | None = None
    more: int = 0
    choice: Choice | None = None
