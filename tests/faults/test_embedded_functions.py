"""The service of a Python process: after a fork, after its own death, and after that of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil

from tests.processes import HANG_SECONDS, is_alive

ROOT = Path(__file__).parents[2]
PROGRAM = """
    import os, signal, sys
    import pandas as pd
    import privacy_risk as pr
    from privacy_risk import embedded

    sys.modules["ipykernel"] = sys  # somebody looks on
    frame = pd.DataFrame({"sex": ["f", "m"] * 3, "ill": ["a", "b", "c"] * 2})

    def classes():
        return pr.profile(frame, quasi_identifiers=["sex"]).classes

    assert classes() == 2
    first = embedded._embedded
    child = os.fork()
    if child == 0:
        os._exit(0 if embedded._embedded is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert classes() == 2 and embedded._embedded is first
    os.kill(first._process.pid, signal.SIGKILL)
    first._process.wait()
    assert classes() == 2 and embedded._embedded is not first
    print(embedded._embedded._process.pid, flush=True)
    sys.stdin.read()
"""


def test_the_service_is_the_own_of_a_process_is_started_again_and_ends_with_it(short_folder):
    temporary = short_folder / "functions"
    temporary.mkdir(mode=0o711)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(said := (short_folder / "said").open("w+")),
    )
    with process, said:
        line = process.stdout.readline()
        assert line, "the program has failed"
        stages = [own.strip() for own in Path(said.name).read_text().splitlines() if own.strip()]
        begun = "a service is being started"
        assert stages[:4] == [
            f"{begun} …",
            f"{begun}: PostgreSQL is made and started …",
            f"{begun}: the tables of the database are made …",
            f"{begun}: the interface is loaded …",
        ]
        service = psutil.Process(int(line))
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + HANG_SECONDS
    while is_alive(service) or list(temporary.iterdir()):
        assert time.monotonic() < deadline, list(temporary.iterdir())
        time.sleep(0.1)
