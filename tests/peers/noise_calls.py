"""What OpenDP takes for whole-number noise, in an environment of its own.

``python tests/peers/noise_calls.py SCALE NUMBERS REPEATS`` prints one JSON object: the least seconds for so
many numbers at once, zeros to which two-sided geometric noise is added, and their mean magnitude.
"""

from __future__ import annotations

import json
import sys
import time

import opendp.prelude as dp


def main(scale: float, numbers: int, repeats: int) -> None:
    """Adds the noise ``repeats`` times."""
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    add_noise = dp.m.make_geometric(domain, dp.l1_distance(T=int), scale=scale)
    zeros, seconds = [0] * numbers, []
    for _ in range(repeats):
        start = time.perf_counter()
        noisy = add_noise(zeros)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": min(seconds), "mean": sum(map(abs, noisy)) / numbers}))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
