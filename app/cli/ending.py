"""How a command that started other processes is told to end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

ENDED_BY_SIGTERM: Final = 128 + signal.SIGTERM
AGAIN_SECONDS: Final = 0.05


class _AskedToEnd(SystemExit):
    """The exit that SIGTERM asks for, told apart from any other."""


@contextlib.contextmanager
def leaving_on_sigterm(status: int = ENDED_BY_SIGTERM) -> Iterator[None]:
    """Leave by an exception when asked to end, so that what was started is stopped.

    The server that answers requests takes the signal while it runs and raises it again when it is done,
    which by default would end the process on the spot. A command that has its own way of ending keeps it,
    and its exit status: a gate that was told to end has passed nothing.

    The exception is raised wherever the main thread happens to be. In a finaliser or the callback of a weak
    reference Python drops it, and the request to end with it; the signal is then sent once more. Only the
    first request raises: another that came while what was started is being stopped would leave the rest of
    it running, and the kernel may send one for each thread of a process that dies.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def leave(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, lambda *_: None)  # not SIG_IGN, which programs would inherit
        raise _AskedToEnd(status)

    def ask_again(dropped: sys.UnraisableHookArgs) -> None:
        if not isinstance(dropped.exc_value, _AskedToEnd):
            otherwise(dropped)
            return
        signal.signal(signal.SIGTERM, leave)
        again = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGTERM))
        again.daemon = True
        again.start()

    otherwise, sys.unraisablehook = sys.unraisablehook, ask_again
    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.unraisablehook = otherwise
