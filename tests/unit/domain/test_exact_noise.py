"""Two-sided geometric noise: its law against the drawn numbers, and that no floating-point number decides."""

import ast
import inspect
import re
import secrets
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

import app
from app.domain.mechanisms import exact_noise
from app.domain.mechanisms.exact_noise import two_sided_geometric, uniform_below
from app.domain.mechanisms.noise_law import NoiseLaw, not_less
from tests.oracles.noise_by_hand import geometric_by_hand
from tests.oracles.perturbation_by_hand import stream

DRAWS = 200_000
REJECTED = 1e-4
"""p below which a test rejects. Streams are seeded: a test passes always, or never."""


def statistic(shown, law):
    """χ² of the numbers against their law, values of less than 20 expected together at either end."""
    n, reach = len(shown), 1
    while n * float(law.tail(reach + 1)) >= 20:
        reach += 1
    counted = np.bincount(np.clip(shown, -reach, reach) + reach, minlength=2 * reach + 1)
    inner = [float(law.probability(z)) for z in range(-reach + 1, reach)]
    end = float(law.tail(reach))
    expected = n * np.array([end, *inner, end])
    return ((counted - expected) ** 2 / expected).sum(), len(expected) - 1


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(123456789, 10**9)])
def test_numbers_have_the_exact_law(rate):
    shown = two_sided_geometric(DRAWS, rate, stream(f"law {rate}"))
    found, freedom = statistic(shown, NoiseLaw(rate))
    assert found < chi2.isf(REJECTED, freedom)


@pytest.mark.parametrize("other", [Fraction(21, 20), Fraction(19, 20)])
def test_a_law_that_is_a_little_off_is_found_out(other):
    """What the test above can see: a rate that is wrong by a twentieth has a χ² far beyond."""
    shown = two_sided_geometric(DRAWS // 4, other, stream("off"))
    found, freedom = statistic(shown, NoiseLaw(Fraction(1)))
    assert found > 2 * chi2.isf(REJECTED, freedom)


def test_the_plain_loop_of_the_source_has_the_same_law():
    numbers = iter(secrets_of("loop", 400_000))
    shown = np.array(
        [geometric_by_hand(Fraction(1, 2), lambda below: next(numbers) % below) for _ in range(4000)]
    )
    for own in (shown, two_sided_geometric(4000, Fraction(1, 2), stream("vectors"))):
        found, freedom = statistic(own, NoiseLaw(Fraction(1, 2)))
        assert found < chi2.isf(REJECTED, freedom)


def secrets_of(seed, n):
    """Words of 64 bits, whose remainders by small numbers are uniform to within 2^-50."""
    return np.frombuffer(stream(seed)(8 * n), dtype="<u8").tolist()


def test_no_number_of_the_release_path_is_a_floating_point_one():
    """Neither literals, nor true division, nor a library that draws or computes with them."""
    tree = ast.parse(inspect.getsource(exact_noise))
    assert not [
        own for own in ast.walk(tree) if isinstance(own, ast.Constant) and isinstance(own.value, float)
    ]
    assert not [
        own
        for own in ast.walk(tree)
        if isinstance(own, ast.BinOp | ast.AugAssign) and isinstance(own.op, ast.Div)
    ]
    named = {own.attr for own in ast.walk(tree) if isinstance(own, ast.Attribute)}
    assert not named & {"random", "exp", "log", "float64", "float32", "mean", "sqrt"}
    imported = {own.module for own in ast.walk(tree) if isinstance(own, ast.ImportFrom)}
    assert imported <= {
        "__future__",
        "fractions",
        "typing",
        "app.domain.arrays",
        "app.domain.mechanisms.mechanism",
    }
    assert two_sided_geometric(5, Fraction(1), stream("a")).dtype == np.int64


@pytest.mark.parametrize("folder", ["domain/mechanisms", "services/releases", "persistence"])
def test_nothing_on_the_way_of_a_release_has_a_source_of_random_numbers_that_can_be_foreseen(folder):
    """No service can be started with a seed: where draws begin, bytes are the system's, and given on."""
    foreseen = re.compile(r"(np|numpy)\.random|default_rng|PCG64|^\s*(import|from) random\b", re.M)
    paths = sorted((Path(app.__file__).parent / folder).rglob("*.py"))
    assert len(paths) > 20
    assert not [path.name for path in paths if foreseen.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    ("bounds", "words", "found"),
    [
        # A quarter of the words is drawn again.
        (3 * 2**62, [3 * 2**62, 2**64 - 1, 3 * 2**62 - 1, 5], [3 * 2**62 - 1, 5]),
        ([3 * 2**62, 7], [2**64 - 1, 2**64 - 1, 11, 12], [11, 5]),
        # Of the last words, those that stand.
        (3, [2**64 - 1, 2**64 - 2, 4], [1, 2]),
        (2, [2**64 - 1, 2**64 - 2], [1, 0]),
        (2**63 + 1, [2**63, 2**63 + 1, 2**64 - 1, 0], [2**63, 0]),
        ([10, 1], [2**64 - 7, 2**64 - 1], [9, 0]),
        ([10, 10], [2**64 - 6, 2**64 - 1, 3, 4], [3, 4]),
    ],
)
def test_uniform_numbers_are_exact_where_words_do_not_divide_evenly(bounds, words, found):
    """A word stands below the greatest multiple of its bound; those that do not are drawn again, in order."""
    given = iter(words)
    bits = lambda n: b"".join(next(given).to_bytes(8, "little") for _ in range(n // 8))  # noqa: E731
    asked = bounds if isinstance(bounds, int) else np.array(bounds, dtype=np.uint64)
    assert uniform_below(2, asked, bits).tolist() == found
    assert next(given, None) is None


def test_uniform_numbers_are_equally_frequent():
    shown = np.bincount(uniform_below(60_000, 6, stream("die")).astype(int))
    assert ((shown - 10_000) ** 2 / 10_000).sum() < chi2.isf(REJECTED, 5)


def test_rates_that_do_not_fit_are_refused_and_none_is_drawn_of_nothing():
    for rate in (Fraction(0), Fraction(-1), Fraction(2**40, 3), Fraction(1, 2**40)):
        with pytest.raises(ValueError, match="fraction above 0"):
            two_sided_geometric(1, rate, stream("a"))
    assert two_sided_geometric(0, Fraction(1), stream("a")).tolist() == []


def test_many_draws_are_fast():
    """25 microseconds of processor time for a draw is asked for; 1 to 4 are taken."""
    started = time.process_time()
    two_sided_geometric(50_000, Fraction(1, 10), secrets.token_bytes)
    assert (time.process_time() - started) / 50_000 < 25e-6


@pytest.mark.spec("DP-5.6")
@pytest.mark.parametrize(
    ("epsilon", "delta", "threshold"), [("1", "1e-6", 15), ("0.1", "1e-6", 133), ("1", "0.01", 6)]
)
def test_the_threshold_is_the_least_that_keeps_delta(epsilon, delta, threshold):
    law, bound = NoiseLaw(Fraction(epsilon)), Fraction(delta)
    assert law.threshold(bound) == threshold
    assert law.tail(threshold - 1) <= bound < Fraction(law.tail(threshold - 2))


def test_the_law_has_the_moments_of_its_source():
    law = NoiseLaw(Fraction(1, 32))
    assert float(law.probability(0)) == pytest.approx(0.0156237, abs=5e-8)
    assert law.standard_deviation**2 == pytest.approx(2047.833341, abs=5e-7)
    assert float(law.tail(544)) == pytest.approx(2.10231e-8, rel=5e-6)
    assert float(sum(law.probability(z) for z in range(-1500, 1501))) == pytest.approx(1, abs=1e-15)
    assert float(law.tail(-3)) == pytest.approx(float(1 - law.tail(4)))
    above = sum(z * law.probability(z) for z in range(1, 1500))
    assert law.mean_above_zero == pytest.approx(float(above))
    assert law.reaching(100, Fraction(19, 20)) == 100 + next(
        k for k in range(1000) if law.tail(-k) >= Fraction(19, 20)
    )


def test_what_is_promised_is_never_stated_smaller_than_it_is():
    for number in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 7)):
        assert Fraction(repr(not_less(number))) >= number
    assert not_less(Fraction(1, 10) + Fraction(2, 10)) == 0.3
    assert not_less(Fraction(1, 2)) == 0.5
