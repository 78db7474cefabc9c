"""Numbers and names in texts: as many digits as it takes, and one line."""

from __future__ import annotations

import math

import optuna
import pytest
from test_explanation import tell

from optuna_hdbo import explain
from optuna_hdbo._story.words import count
from optuna_hdbo._story.words import numeral
from optuna_hdbo._story.words import visible


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (1.23456789, None, "1.235"),
        (1.23456789, 1e-6, "1.234568"),
        (123456.7, None, "123457"),
        (100000.0, 1e-5, "100000"),
        (12345678.9, None, "1.235e+07"),
        (1e12 + 3.25, 0.1, "1000000000003.2"),
        (1e300, 1e-300, "1e+300"),
        (2e-299, 1e-300, "2e-299"),
        (-0.0, 0.1, "0"),
        (0.5, math.inf, "0.5"),
        (0.5, 0.0, "0.5"),
    ],
)
def test_numbers_have_the_digits_that_it_takes(
    value: float, step: float | None, text: str
) -> None:
    assert numeral(value, step) == text


def test_counts_and_names() -> None:
    assert (count(1, "trial"), count(0, "trial")) == ("1 trial", "0 trials")
    assert visible("two\nlines ü") == "two\\nlines ü"


def test_an_improvement_is_seen_in_the_numbers() -> None:
    study = optuna.create_study()
    tell(study, 1000.0)
    tell(study, 999.98, "local", report={"predicted": 999.97, "std": 0.05}, x=5.2)
    told = str(explain(study, 1))
    assert "expected a value of 999.97, with" in told
    assert "The value is 999.98: 0.2 standard deviations worse" in told
    assert "The best trial then was 0 with 1000; this one is better" in told
