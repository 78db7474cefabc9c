"""Checks of settings: what passes, and that messages name argument, rule and value."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from optuna_hdbo._core.checks import check_branching
from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.checks import check_number


@pytest.mark.parametrize("value", [1, 2, 10**30, np.int64(3), np.uint8(1)])
def test_integers(value: Any) -> None:
    check_integer("size", value, 1)


@pytest.mark.parametrize("value", [0, -1, 2.0, 2.5, True, False, "2", None, [1], float("nan")])
def test_what_is_no_integer_in_range(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^size must be an integer of at least 1, ") as error:
        check_integer("size", value, 1)
    assert repr(value) in str(error.value)


def test_optional_integers() -> None:
    check_integer("size", None, 1, optional=True)
    with pytest.raises(ValueError, match="at least 1 or None, but got 0"):
        check_integer("size", 0, 1, optional=True)


def test_choices() -> None:
    check_choice("kind", "a", ("a", "b"))
    for value in ("c", "A", "", None, 1, ["a"], {"a"}, np.array(["a", "b"])):
        with pytest.raises(ValueError, match=r'^kind must be one of "a", "b", but got ') as error:
            check_choice("kind", value, ("a", "b"))
        assert repr(value) in str(error.value)


NO_NUMBERS = [
    float("nan"),
    float("inf"),
    10**400,
    -(10**400),
    True,
    None,
    "1",
    [1.0],
    np.array([1.0, 2.0]),
]


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_finite_number(value: Any) -> None:
    """A float holds neither an integer of 400 digits nor an array."""
    said = re.escape(repr(value))
    with pytest.raises(ValueError, match=rf"^a must be a number at least 0, but got {said}\.$"):
        check_number("a", value, least=0.0)
    with pytest.raises(ValueError, match=rf"^branching must be 2 or 3, but got {said}\.$"):
        check_branching(value)


def test_numbers_of_every_type() -> None:
    for value in (1, 1.0, np.float32(1.0), np.float64(1.0), np.int64(1), np.uint8(1)):
        check_number("a", value, least=1.0, most=1.0)
    for number in (2, 3, np.int64(2)):
        check_branching(number)
    check_number("a", 10**300, above=0.0)
