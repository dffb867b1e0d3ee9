"""Executes a notebook cell by cell, as Jupyter does: what is printed and the last value are its outputs.

``python -m tests.notebook NOTEBOOK`` prints it with its outputs; ``--write`` puts them into the file.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def executed(notebook: Json) -> Json:
    """The notebook with the outputs of its code cells, which share one namespace."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            outputs = _outputs("".join(cell["source"]), namespace, number)
            cell = {**cell, "execution_count": number, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, namespace: dict[str, object], number: int) -> list[Json]:
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), namespace)
        if last is not None:
            value = eval(compile(last, f"cell {number}", "eval"), namespace)
    outputs: list[Json] = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append(
            {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        )
    return outputs


def main() -> None:
    """Execute the notebook in the current folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--write", action="store_true", help="put the outputs into the file")
    asked = parser.parse_args()
    done = executed(json.loads(asked.notebook.read_text(encoding="utf-8")))
    text = json.dumps(done, indent=1, ensure_ascii=False) + "\n"
    if asked.write:
        asked.notebook.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
