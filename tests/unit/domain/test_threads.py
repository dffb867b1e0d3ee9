"""Work shared among threads: in order, a few items ahead, with the errors of the work."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.domain.counting.threads import ITEMS_PER_THREAD, in_order
from tests.processes import HANG_SECONDS


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_their_items(threads):
    assert list(in_order(lambda item: item * item, range(40), threads)) == [i * i for i in range(40)]
    assert list(in_order(lambda item: item, [], threads)) == []


def test_several_threads_work_at_once():
    meeting = threading.Barrier(3, timeout=HANG_SECONDS)
    assert list(in_order(lambda item: meeting.wait() >= 0, range(6), 3)) == [True] * 6


def test_one_thread_is_that_of_the_caller():
    assert set(in_order(lambda item: threading.get_ident(), range(3), 1)) == {threading.get_ident()}


def test_items_are_taken_by_the_caller_and_only_a_few_ahead():
    taken = []

    def items():
        for item in range(100):
            taken.append(threading.get_ident())
            yield item

    results = in_order(lambda item: item, items(), 2)
    assert next(results) == 0
    assert len(taken) == 2 * ITEMS_PER_THREAD + 1
    results.close()
    assert len(taken) == 2 * ITEMS_PER_THREAD + 1
    assert set(taken) == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_takes_the_place_of_its_result(threads):
    results = in_order(lambda item: 6 // item, [3, 2, 0, 1], threads)
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_what_was_begun_is_waited_for_when_the_caller_stops_asking(monkeypatch):
    finished = []
    begun, release = threading.Event(), threading.Event()
    shutdown = ThreadPoolExecutor.shutdown

    def work(item):
        if item:
            begun.set()
            release.wait(HANG_SECONDS)
            finished.append(item)
        return item

    def leave(pool, *more, **named):
        """Only now may the work go on: what has not begun by then never does."""
        release.set()
        shutdown(pool, *more, **named)

    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", leave)
    results = in_order(work, range(10), 2)
    assert next(results) == 0
    assert begun.wait(HANG_SECONDS)
    results.close()
    assert finished
    assert len(finished) <= 2
