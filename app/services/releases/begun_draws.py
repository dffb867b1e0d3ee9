"""Whether something may be drawn: what was drawn of the same data before, and the beginning of a draw."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from app.domain.errors import Conflict, NotFound
from app.services.named import refuse_promised
from app.services.ports import UnitOfWork
from app.services.releases.drawing import Preparation
from app.services.releases.draws import Draw
from app.services.releases.requests import CreateRelease
from app.services.releases.same_tables import contents_like
from app.services.releases.within_budget import require_within_budget
from app.services.resources import Kind, Stored

_MOST_NAMED: Final = 10
_RETRY_SECONDS: Final = 1
_ATTEMPTS: Final = 10
"""So often a release is planned anew while others are drawn that may have some of its people."""
WHAT_WAS_DRAWN: Final = (
    "The same attribute of the same uploaded content or of people who are in it, or whole records of these,"
)

T = TypeVar("T")


class Overtaken(Conflict):
    """Something was given out since it was planned, of people who may be in it."""


async def in_turn(
    prepare: Callable[[], Awaitable[Preparation]], begin: Callable[[Preparation], Awaitable[T]]
) -> tuple[Preparation, T]:
    """What is prepared and begun: anew as long as others come before, within bounds."""
    for _ in range(_ATTEMPTS - 1):
        prepared = await prepare()
        try:
            return prepared, await begin(prepared)
        except Overtaken:
            continue
    prepared = await prepare()
    return prepared, await begin(prepared)


async def known_draw(work: UnitOfWork, prepared: Preparation) -> Draw | Stored | None:
    """The release that was drawn for the same question, or the draw that was begun for it; None: nothing was.

    Until the work ends nobody else begins a draw of the same data, or deletes the dataset. NotFound if it is
    gone, Conflict if the name is taken, something else was drawn of the same data, or just now of people who
    may be in it, or the table's budget has not enough.
    """
    await work.draws.of_subject(prepared.subject, hold=True)
    # What was uploaded since may be the same table, and something drawn of it.
    prepared = replace(prepared, contents=await contents_like(work, prepared.contents[0]))
    earlier = await work.draws.of_subject(prepared.subject, prepared.beside)
    await work.resources.described(Kind.DATASET, prepared.dataset.id)
    same = [own for own in earlier if own.question_sha256 in prepared.wordings]
    for own in same:
        if own.release is not None:
            refuse_other_name(prepared.request, own.release)
            return await work.resources.get(Kind.RELEASE, own.id)
    await _require_free(work, prepared.request.name, prepared.wordings)
    for own in same:
        if own.is_open:
            if own.loss is None:  # no sum has its share yet
                await require_within_budget(work, prepared)
            return own
    refuse_another(prepared.request, earlier)
    await _require_compared(work, prepared)
    await require_within_budget(work, prepared)
    return None


def refuse_other_name(request: CreateRelease, name: str) -> None:
    """Refuse to answer by what was asked for under this name, if a further draw is asked for under another.

    Who asks for a draw that is independent of earlier ones would take another's for that.
    """
    if request.independent_of_earlier and name != request.name:
        raise Conflict(
            f"The same further draw was asked for under the name {name!r}, and is none of another name.",
            "Use it by that name; or ask for a draw with other parameters.",
        )


async def begun_draw(work: UnitOfWork, prepared: Preparation) -> Draw | Stored:
    """What is known of the question, or else a draw that is counted and sealed in this work."""
    known = await known_draw(work, prepared)
    if known is not None:
        return known
    people = prepared.people
    return await work.draws.begin(
        prepared.subject,
        prepared.question,
        prepared.dataset.id,
        prepared.loss,
        prepared.least_records,
        beside=() if people is None else people.subjects,
        is_compared=people is not None and not people.unknown,
    )


async def _require_compared(work: UnitOfWork, prepared: Preparation) -> None:
    """Overtaken if something was drawn since it was looked for whose draws count with this one."""
    people = prepared.people
    if people is None:
        return
    same = await work.draws.of_subject("", prepared.subjects)
    earlier = sum(own.question_sha256 not in prepared.wordings for own in same)
    is_other = (
        not prepared.mechanism.hides_records and 1 + earlier + people.draws != prepared.context.releases
    )
    if is_other or await people.is_outdated(work, prepared.dataset):
        raise Overtaken(
            "Something was drawn of people who may be in this dataset, too, each time that it was planned.",
            "Send the request again: it is planned for who has these releases, too.",
            retry_after=_RETRY_SECONDS,
        )


async def _require_free(work: UnitOfWork, name: str, wordings: Collection[str]) -> None:
    """Refuse a name that another release has or is to have, before anything is drawn for it."""
    await refuse_promised(work, Kind.RELEASE, name, wordings)
    try:
        found = await work.resources.described(Kind.RELEASE, name)
    except NotFound:
        return
    raise Conflict(
        f"The release {name!r} exists with other content.",
        "Choose another name, or delete that one first.",
        {"existing": {"kind": Kind.RELEASE.value, "name": found.name, "id": found.id}},
    )


def refuse_another(request: CreateRelease, earlier: Sequence[Draw]) -> None:
    """Refuse a further draw that was not asked for as one: Conflict naming the earlier ones."""
    if not earlier or request.independent_of_earlier:
        return
    last = earlier[-1]
    if last.release is not None:
        which, remedy = f"the release {last.release!r}", "Use that release"
    elif last.is_stored:
        which, remedy = "a release that is deleted by now", "Use what was released then"
    elif last.is_given_up:
        which = "a release whose dataset was erased before it was stored"
        remedy = "Know that its share stays spent"
    else:
        which = "a release that was begun and is not stored yet"
        remedy = "Send the request that began it again, which goes on with it"
    more = "" if len(earlier) == 1 else f", and {len(earlier) - 1} times before"
    raise Conflict(
        f"{WHAT_WAS_DRAWN} was drawn on {last.begun_at:%Y-%m-%d} for {which}{more}. Who has several draws "
        "learns more of each record than any of them promises.",
        f"{remedy}; or ask with independent_of_earlier and the scope govern for a draw that is worth less.",
        {
            "earlier": [
                {"release": own.release, "id": own.id, "begun_at": own.begun_at.isoformat()}
                for own in earlier[-_MOST_NAMED:]
            ]
        },
    )
