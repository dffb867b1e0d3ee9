"""Uploads of one row per person as other parts of the service see them."""

from __future__ import annotations

import pytest

from app.domain.errors import Conflict, Forbidden, TooLarge
from app.services.datasets import one_row_uploads
from app.services.datasets.one_row_uploads import OneRowPerPerson
from app.services.datasets.uploads import UploadService
from app.services.releases.same_tables import contents_like
from app.services.resources import Actor, Scope
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.uploading import LIMITS, Uploading

pytestmark = pytest.mark.anyio

VISITS = b"pid,city\na,x\nb,y\na,x\n"
ASKED = OneRowPerPerson("people", "pid")


@pytest.fixture
def uploading(store: MemoryStore, actor: Actor) -> Uploading:
    return Uploading(store, actor)


async def test_the_same_table_sent_as_a_file_is_known_to_be_the_same(
    uploading: Uploading, store: MemoryStore, actor: Actor
) -> None:
    """So that what is drawn of the one counts for the other, in whatever order its rows are."""
    await uploading.send(VISITS, name="visits")
    made = await UploadService(store, LIMITS).create_one_row_per_person(actor, "visits", ASKED)
    assert uploading.rows(made) == [("a", "x"), ("b", "y")]
    sent = await uploading.send(b"city,pid\ny,b\nx,a\n", name="file")
    async with store.work(actor.tenant) as work:
        same = await contents_like(work, made.resource.summary["content_sha256"])
    assert sent.resource.summary["content_sha256"] in same


async def test_what_is_refused_leaves_nothing(
    uploading: Uploading, store: MemoryStore, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = UploadService(store, LIMITS)
    await uploading.send(VISITS, name="visits")
    await uploading.send(b"a\n1\n", name="people")
    pieces = set(store.data(actor.tenant).pieces)
    with pytest.raises(Conflict):
        await service.create_one_row_per_person(actor, "visits", ASKED)
    with pytest.raises(Forbidden):
        await service.create_one_row_per_person(
            Actor(actor.tenant, "reader", frozenset({Scope.DATA_READ})), "visits", ASKED
        )
    monkeypatch.setattr(one_row_uploads, "MOST_CELLS", 5)
    with pytest.raises(TooLarge, match="at most 5 cells"):
        await service.create_one_row_per_person(actor, "visits", ASKED)
    assert set(store.data(actor.tenant).pieces) == pieces
