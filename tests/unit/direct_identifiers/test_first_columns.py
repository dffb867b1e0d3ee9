"""Two columns that are the first of a process, looked at by two threads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PROGRAM = """
import importlib.abc, threading, sys, time
import pytest
from app.domain.direct_identifiers import checked_numbers, personal_names
failed = []

def ask(question):
    try:
        question()
    except Exception as error:
        failed.append(repr(error))

other = threading.Thread(target=ask, args=[checked_numbers._card_starts])

class Halfway(importlib.abc.MetaPathFinder):
    # Finds nothing. Where the first thread is half way through the library, the second begins to load it.
    def find_spec(self, name, path=None, target=None):
        if name == "faker.factory" and other.ident is None:
            other.start()
            time.sleep(0.5)

sys.meta_path.insert(0, Halfway())
ask(personal_names.name_lists)
other.join()
print(failed)
"""


@pytest.mark.deep
def test_two_threads_that_load_the_same_library_at_once_both_get_what_they_need():
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stdout, ended.stderr) == ("[]\n", "")
