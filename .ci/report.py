"""Count tests per tier and folder and name each skip, from the JUnit files of the runs given as NAME=FILE."""

from __future__ import annotations

import argparse
import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any


def summarise(path: Path) -> dict[str, Any]:
    """Passed, failed and skipped tests of one run, counted by tier and by folder below tests/."""
    outcome: Counter[str] = Counter()
    tiers: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    skips = []
    seconds = 0.0
    for case in ElementTree.parse(path).iter("testcase"):  # noqa: S314
        parts = case.get("classname", "").split(".")
        folders[parts[1] if len(parts) > 1 and parts[0] == "tests" else parts[0]] += 1
        properties = {one.get("name"): one.get("value") for one in case.iter("property")}
        tiers[properties.get("tier") or "suite"] += 1
        seconds += float(case.get("time", 0))
        skipped = case.find("skipped")
        if skipped is not None:
            outcome["skipped"] += 1
            test = f"{case.get('classname')}::{case.get('name')}"
            skips.append({"test": test, "why": skipped.get("message")})
        elif case.find("failure") is not None or case.find("error") is not None:
            outcome["failed"] += 1
        else:
            outcome["passed"] += 1
    return {
        **{k: outcome[k] for k in ("passed", "failed", "skipped")},
        "seconds": round(seconds, 1),
        "tests_per_tier": dict(sorted(tiers.items())),
        "tests_per_folder": dict(sorted(folders.items())),
        "skips": skips,
    }


def main() -> int:
    """Print a line a run and a closing line; write everything as JSON if asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("runs", nargs="+")
    arguments = parser.parse_args()
    runs: dict[str, dict[str, Any]] = {}
    for name, _, file in (run.partition("=") for run in arguments.runs):
        if Path(file).exists():
            runs[name] = summarise(Path(file))
            print(name, json.dumps({k: v for k, v in runs[name].items() if k != "skips"}))
            for skip in runs[name]["skips"]:
                print(f"  skipped {skip['test']}: {skip['why']}")
    total = {key: sum(run[key] for run in runs.values()) for key in ("passed", "failed", "skipped")}
    if arguments.out:
        report = {"seconds": arguments.seconds, "total": total, "runs": runs}
        arguments.out.write_text(json.dumps(report, indent=2))
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
