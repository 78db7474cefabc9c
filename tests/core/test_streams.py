"""Random numbers are a function of seed, purpose and step, and of nothing else."""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_hdbo._core.streams import Streams


keys = st.tuples(st.integers(-(2**70), 2**70), st.text(max_size=8), st.integers(0, 10**6))


def numbers(seed: int, purpose: str, step: int) -> tuple[float, ...]:
    return tuple(Streams(seed).generator(purpose, step).random(3))


@given(keys)
def test_a_key_has_its_numbers(key: tuple[int, str, int]) -> None:
    assert numbers(*key) == numbers(*key)


@given(keys, keys)
def test_keys_that_differ_have_others(a: tuple[int, str, int], b: tuple[int, str, int]) -> None:
    assert (numbers(*a) == numbers(*b)) == (a == b)


@given(keys)
def test_each_part_of_the_key_counts(key: tuple[int, str, int]) -> None:
    seed, purpose, step = key
    own = numbers(*key)
    assert numbers(seed + 1, purpose, step) != own
    assert numbers(seed, purpose + "'", step) != own
    assert numbers(seed, purpose, step + 1) != own
    if seed != 0:
        assert numbers(-seed, purpose, step) != own
    assert tuple(Streams(seed, 0).generator(purpose, step).random(3)) == own
    assert tuple(Streams(seed, 1).generator(purpose, step).random(3)) != own


def test_numbers_of_studies_and_seeds_do_not_mix() -> None:
    streams = [Streams(seed, study) for seed in (1, 11, -1) for study in (0, 1, 11)]
    assert len({s.generator("x", 0).random() for s in streams}) == len(streams)


def test_texts_of_equal_checksums_have_their_own_numbers() -> None:
    """Names of parameters, for instance: a checksum of 32 bits is too short to tell them apart."""
    assert zlib.crc32(b"plumless") == zlib.crc32(b"buckeroo")
    assert numbers(0, "plumless", 1) != numbers(0, "buckeroo", 1)


def test_a_number_at_the_beginning_of_a_text_is_not_part_of_the_step() -> None:
    assert numbers(1, "2 x", 3) != numbers(1, "x", 32)
    assert numbers(1, "x", 23) != numbers(12, "x", 3)
    assert numbers(0, "3 x", 2) != numbers(0, "x", 2)


def test_other_draws_do_not_shift_the_numbers() -> None:
    streams = Streams(3)
    expected = numbers(3, "start", 5)
    streams.generator("start", 4).random(100)
    streams.generator("candidates", 5).standard_normal(7)
    first = streams.generator("start", 5)
    second = streams.generator("start", 5)
    assert tuple(first.random(3)) == expected
    assert tuple(second.random(3)) == expected


def test_threads_do_not_race() -> None:
    streams = Streams(11)
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda i: tuple(streams.generator("x", i).random(3)), range(200)))
    assert drawn == [numbers(11, "x", i) for i in range(200)]


@pytest.mark.parametrize(
    ("key", "raw"),
    [
        ((0, "candidates", 0), 12160669269446462958),
        ((-7, "ä", 12), 15580697181076299101),
        ((2**40, "x", 3), 2883806676384312931),
    ],
)
def test_processes_versions_and_platforms_agree(key: tuple[int, str, int], raw: int) -> None:
    """No hash() of a text, which Python salts: a resumed study must not repeat itself."""
    seed, purpose, step = key
    assert Streams(seed).generator(purpose, step).bit_generator.random_raw() == raw


def test_without_a_seed_each_has_its_own() -> None:
    seeds = {Streams().seed for _ in range(20)}
    assert len(seeds) == 20
    streams = Streams()
    assert numbers(streams.seed, "x", 1) == tuple(streams.generator("x", 1).random(3))


def test_numpy_integers_are_seeds() -> None:
    assert numbers(np.int64(5), "x", 1) == numbers(5, "x", 1)  # type: ignore[arg-type]


def test_a_negative_step_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        Streams(0).generator("x", -1)
