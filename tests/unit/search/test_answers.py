"""What is kept of long work, against a dictionary."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.search import answers as answers_module
from app.domain.search.answers import MEMORY_PER_BYTE, Answers, memory_of, packed_state, unpacked_state

QUESTIONS = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3).map(tuple)


@given(st.lists(st.tuples(QUESTIONS, st.binary(max_size=40)), max_size=60), st.integers(0, 60))
def test_answers_are_those_that_were_found_first_before_and_after_they_were_kept(asked, cut):
    expected: dict = {}
    first = Answers()
    pieces = []
    for number, (question, answer) in enumerate(asked):
        if number == cut:
            pieces.append(first.kept())
        assert first.of(question, lambda answer=answer: answer) == expected.setdefault(question, answer)
    pieces.append(first.kept(sum(map(len, pieces))))
    again = Answers()
    for piece in reversed(pieces):
        again.recall(piece)
    assert again.size == first.size
    for question, answer in expected.items():
        assert first.known(question) == again.known(question) == answer
    assert again.known((1, 2, 3, 4)) is None


def test_parts_are_kept_with_the_whole_and_do_not_mix():
    whole, one, other = Answers(), Answers(), Answers()
    one.become_part(whole, 1)
    other.become_part(whole, 2)
    one.keep((5,), b"one")
    other.keep((5,), b"other")
    whole.keep((5,), b"whole")
    again, part = Answers(), Answers()
    again.recall(whole.kept())
    part.become_part(again, 2)
    assert (part.known((5,)), again.known((5,)), again.known((1, 5))) == (b"other", b"whole", b"one")


def test_what_there_is_no_room_for_is_found_anew(monkeypatch):
    monkeypatch.setattr(answers_module, "MOST_BYTES", 100)
    answers = Answers()
    for number in range(20):
        assert answers.of((number,), lambda number=number: bytes([number])) == bytes([number])
    assert 80 < answers.size <= 100
    assert answers.of((19,), lambda: b"anew") == b"anew"


@pytest.mark.parametrize(("words", "size"), [(1, 24), (9, 24), (9, 300)])
def test_the_memory_of_answers_is_at_most_what_is_stated(words, size):
    answers = Answers()
    tracemalloc.start()
    try:
        for number in range(5_000):
            answers.keep((number,) * words, bytes(size))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answers.size < peak <= memory_of(5_000, words, size) == int(MEMORY_PER_BYTE * answers.size)
    assert memory_of(1e12, words, size) == MEMORY_PER_BYTE * answers_module.MOST_BYTES


def test_a_state_comes_back_exactly_and_one_that_is_too_large_leaves_the_last_one(monkeypatch):
    arrays = {"a": np.array([0.1, np.inf, -0.0]), "b": np.empty((0, 3), dtype=np.int16)}
    own = Answers()
    own.want_state()
    own.offer((1,), lambda: packed_state([math.inf, None], arrays))
    last = own.kept_state()
    numbers, found = unpacked_state(own.state((1,)))
    assert numbers == [math.inf, None]
    assert {name: (kept.dtype, kept.shape, kept.tobytes()) for name, kept in found.items()} == {
        name: (kept.dtype, kept.shape, kept.tobytes()) for name, kept in arrays.items()
    }
    monkeypatch.setattr(answers_module, "MOST_BYTES", 100_000)
    many = np.random.default_rng(1).random((2, 20_000))
    large = dict(zip("ab", many, strict=True))
    assert 100_000 < len(packed_state([], large)) < 200_000  # nothing of the second
    own.want_state()
    own.offer((1,), lambda: packed_state([], large))
    assert own.kept_state() is last
