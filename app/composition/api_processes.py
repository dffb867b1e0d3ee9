"""Several processes that answer requests at one address: started, watched, replaced and ended together.

They are forked by a process that has loaded all that they need and starts no thread and no event loop: so
they share that memory, and find no lock held by somebody who is not there. (Threads of NumPy's and Arrow's
own provide for forks.)
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Final, NoReturn

from app.cli.program import told
from app.composition.starter import end_fork, end_with
from app.domain.errors import Unavailable

STOP_SECONDS: Final = 10.0
RESTART_SECONDS: Final = 1.0
"""Between the death of a process and the start of the one that replaces it; doubled for each that fails."""

LONGEST_RESTART_SECONDS: Final = 30.0

logger = logging.getLogger(__name__)

Answer = Callable[[Callable[[], None], bool], None]
"""Answers requests until asked to end by SIGTERM. It calls its first argument as soon as it does; if the
second is true, it also does what one of the processes is to do for all.
"""


@dataclass
class _Answering:
    """One of the processes; ``answers`` once it has told so through ``news``."""

    process: ForkProcess
    news: Connection
    speaks_for_all: bool
    answers: bool = False


class ApiProcesses:
    """So many processes that answer requests at one address.

    The others are started once the first answers: what nobody could mend by trying again is then said once.
    ``forget`` is told the number of each process that has ended; ``announce`` is called once, when the first
    answers.
    """

    def __init__(
        self, number: int, answer: Answer, forget: Callable[[int], None], announce: Callable[[], None]
    ) -> None:
        self._number = number
        self._announce: Callable[[], None] | None = announce
        self._answer = answer
        self._forget = forget
        self._running: list[_Answering] = []
        self._pause = RESTART_SECONDS
        self._next_start = 0.0

    def keep(self) -> NoReturn:
        """Start and replace them until an exception asks to end; Unavailable if none comes to answer."""
        try:
            while True:
                self._start_another()
                unheard = [one.news for one in self._running if not one.answers]
                # Until another is due, or without end if none is.
                patience = max(0.0, self._next_start - time.monotonic()) if self._lacks_one() else None
                wait([*(one.process.sentinel for one in self._running), *unheard], patience)
                for one in tuple(self._running):
                    self._look_at(one)
        finally:
            self._end()

    def _lacks_one(self) -> bool:
        return len(self._running) < self._number and all(one.answers for one in self._running)

    def _start_another(self) -> None:
        if not self._lacks_one() or time.monotonic() < self._next_start:
            return
        context = get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        speaks_for_all = not any(one.speaks_for_all for one in self._running)
        process = context.Process(target=_answer, args=(self._answer, theirs, speaks_for_all))
        process.start()
        theirs.close()
        self._running.append(_Answering(process, ours, speaks_for_all))

    def _look_at(self, one: _Answering) -> None:
        if not one.answers and one.news.poll():
            try:
                one.news.recv_bytes()
            except EOFError:  # only its death closes the other end
                one.process.join()
            else:
                one.answers, self._pause = True, RESTART_SECONDS
                if self._announce is not None:
                    self._announce()
                    self._announce = None
        if one.process.exitcode is not None:
            self._bury(one)

    def _bury(self, one: _Answering) -> None:
        self._running.remove(one)
        one.news.close()
        self._forget(one.process.ident or 0)
        status = one.process.exitcode
        if one.answers:
            logger.warning("an API process ended with status %s; another takes its place", status)
        elif any(other.answers for other in self._running):
            self._pause = min(2 * self._pause, LONGEST_RESTART_SECONDS)
            logger.error("an API process ended with status %s before it could answer", status)
        else:
            raise Unavailable(
                f"No API process comes to answer: the last one ended with status {status}.",
                "What it said stands above.",
            )
        self._next_start = time.monotonic() + self._pause

    def _end(self) -> None:
        """Have what was begun answered, and end all processes, one that was being started included."""
        processes = active_children()
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in processes:
            end_fork(process, max(0.0, deadline - time.monotonic()))


def _answer(answer: Answer, news: Connection, speaks_for_all: bool) -> None:
    """The whole life of such a process."""
    starter = parent_process()
    if starter is not None:
        end_with(starter.ident or 0)
    sys.exit(told(lambda: answer(lambda: news.send_bytes(b"answers"), speaks_for_all)))
