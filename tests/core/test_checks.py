"""Checks of settings: what passes, and that messages name argument, rule and value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optuna_hdbo._core.checks import check_choice
from optuna_hdbo._core.checks import check_integer


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
    for value in ("c", "A", "", None, 1, ["a"], {"a"}):
        with pytest.raises(ValueError, match=r'^kind must be one of "a", "b", but got ') as error:
            check_choice("kind", value, ("a", "b"))
        assert repr(value) in str(error.value)
