"""Who holds a lease renews it while it works, and stops working once it cannot."""

from __future__ import annotations

import asyncio

import pytest

from app.domain.errors import Unavailable
from app.services.leases import KEY_LEASE, Lease, _beat, held

pytestmark = pytest.mark.anyio

LONG = Lease(3600.0, 0.001)
SHORT = Lease(0.01, 0.001)


class Renewals:
    """Answers as told, the last answer again and again; counts how often it was asked."""

    def __init__(self, *answers: bool | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self) -> bool:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_key_is_free_within_ten_seconds_and_a_sign_of_life_may_be_missed():
    assert 2 * KEY_LEASE.pause < KEY_LEASE.seconds < 10


async def test_work_goes_on_as_long_as_the_lease_is_renewed_and_renewing_ends_with_it():
    renewals = Renewals(True)
    async with held(LONG, now(), renewals):
        while renewals.asked < 5:  # noqa: ASYNC110 - counts what another task does
            await asyncio.sleep(0)
    asked = renewals.asked
    await asyncio.sleep(5 * LONG.pause)
    assert renewals.asked == asked


async def test_a_lease_counts_from_before_it_was_asked_for():
    with pytest.raises(Unavailable, match="interrupted"):
        async with held(LONG, now() - LONG.seconds, Renewals(True)):
            await asyncio.Event().wait()


async def test_a_renewal_counts_from_before_it_was_asked_for_too():
    asked = []

    async def slow() -> bool:
        asked.append(now())
        await asyncio.sleep(0.02)
        return True

    async with asyncio.timeout(None) as deadline:
        beating = asyncio.create_task(_beat(LONG, deadline, slow))
        while deadline.when() is None:  # noqa: ASYNC110 - looks at what another task does
            await asyncio.sleep(0)
        beating.cancel()
    until = deadline.when()
    assert until is not None
    assert until <= asked[0] + LONG.seconds


async def test_work_whose_lease_is_lost_is_stopped_where_it_stands():
    with pytest.raises(Unavailable, match="interrupted"):
        async with held(LONG, now(), Renewals(True, False)):
            await asyncio.Event().wait()


async def test_a_failure_to_ask_is_no_loss_until_the_lease_has_ended():
    renewals = Renewals(Unavailable("away"), Unavailable("away"), True)
    async with held(LONG, now(), renewals):
        while renewals.asked < 4:  # noqa: ASYNC110
            await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="interrupted"):
        async with held(SHORT, now(), Renewals(Unavailable("away"))):
            await asyncio.Event().wait()


async def test_a_timeout_of_the_work_itself_is_its_own():
    with pytest.raises(TimeoutError):
        async with held(LONG, now(), Renewals(True)):
            raise TimeoutError
