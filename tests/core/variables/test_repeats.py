"""Which points would repeat a trial that never came to what differs."""

from __future__ import annotations

import numpy as np

from optuna_hdbo._core.variables.repeats import Repeats


def test_a_point_that_differs_in_what_a_trial_lacks_only_repeats_it() -> None:
    absent, repeats = np.array([0.5, 0.5, 0.5]), Repeats()
    some, none = np.array([False, False, True]), np.zeros(3, np.bool_)
    x, other = np.array([0.1, 0.2, 0.9]), np.array([0.1, 0.3, 0.9])
    repeats.add(np.array([0.1, 0.2, 0.5]), some)  # nothing had the last column yet
    assert repeats.idle(x, absent) is None
    repeats.add(np.array([0.7, 0.7, 0.7]), none)
    repeats.add(np.array([0.1, 0.2, 0.5]), some)
    found = repeats.idle(x, absent)
    assert found is not None
    np.testing.assert_array_equal(found, some)
    assert repeats.idle(other, absent) is None
    assert repeats.idle(np.array([0.1, 0.2, 0.5]), absent) is None  # the very same point
