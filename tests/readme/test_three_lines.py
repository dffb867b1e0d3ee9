"""The notebook's cells print and show what stands there, and the service goes with the process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.samples import DEFAULT_ENTITIES, DEFAULT_MEMBERS
from app.samples.files import write_sample

pytestmark = pytest.mark.readme

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "three-lines.ipynb"


def test_every_cell_answers_what_the_notebook_shows(short_folder):
    folder, temporary = short_folder / "notebook", short_folder / "temporary"
    folder.mkdir()
    temporary.mkdir(mode=0o711)
    write_sample(folder / "sample", DEFAULT_MEMBERS, DEFAULT_ENTITIES)
    command = [sys.executable, "-m", "tests.notebook", str(NOTEBOOK)]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    executed, shown = json.loads(done.stdout)["cells"], json.loads(NOTEBOOK.read_text())["cells"]
    for now, then in zip(executed, shown, strict=True):
        assert now == then, "python -m tests.notebook docs/three-lines.ipynb --write puts the outputs there"
    assert not list(temporary.iterdir())
