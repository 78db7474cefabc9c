"""Attributes that are computed once, and never behind a lock."""

from __future__ import annotations

from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.lazy import cached_property


class Thing:
    n_calls = 0

    @cached_property
    def attribute(self) -> int:
        """What it is."""
        self.n_calls += 1
        return self.n_calls


def test_it_is_computed_once_for_each_object() -> None:
    one, two = Thing(), Thing()
    assert [one.attribute, one.attribute, two.attribute] == [1, 1, 1]
    assert Thing.attribute.__doc__ == "What it is."


def test_it_has_no_lock_that_a_fork_could_leave_held() -> None:
    for descriptor in (vars(Thing)["attribute"], vars(Domain)["discrete"]):
        assert not hasattr(descriptor, "lock")
