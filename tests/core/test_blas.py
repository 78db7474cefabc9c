"""The number of BLAS threads, limited and given back."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from optuna_hdbo._core import blas as threads


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    state = {"threads": 4}
    threads._owed.clear()
    switch = (lambda: state["threads"], lambda n: state.__setitem__("threads", n))
    monkeypatch.setattr(threads, "_switches", lambda: (switch,))
    return state


def test_the_limit_holds_inside_and_is_lifted_outside(counts: dict[str, int]) -> None:
    with threads.one_blas_thread():
        assert counts["threads"] == 1
        with threads.one_blas_thread():
            assert counts["threads"] == 1
        assert counts["threads"] == 1
    assert counts["threads"] == 4


def test_the_limit_is_lifted_after_an_error(counts: dict[str, int]) -> None:
    with pytest.raises(RuntimeError), threads.one_blas_thread():
        raise RuntimeError
    assert counts["threads"] == 4


def test_overlapping_threads_leave_the_number_as_it_was(counts: dict[str, int]) -> None:
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with threads.one_blas_thread():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=stay)
    with threads.one_blas_thread():
        other.start()
        assert inside.wait(10)
    assert counts["threads"] == 1
    leave.set()
    other.join()
    assert counts["threads"] == 4


def test_a_limit_that_ends_later_does_not_keep_one_thread(counts: dict[str, int]) -> None:
    """As threadpoolctl does: it reads the number when it begins, and writes it when it ends."""
    limit = threads.one_blas_thread()
    limit.__enter__()
    theirs, counts["threads"] = counts["threads"], 2
    limit.__exit__()
    assert counts["threads"] == 2
    counts["threads"] = theirs
    with threads.one_blas_thread():
        assert counts["threads"] == 1
    assert counts["threads"] == 4


def test_a_limit_that_began_earlier_is_not_undone(counts: dict[str, int]) -> None:
    theirs, counts["threads"] = counts["threads"], 1
    limit = threads.one_blas_thread()
    limit.__enter__()
    counts["threads"] = theirs
    limit.__exit__()
    assert counts["threads"] == 4
    with threads.one_blas_thread():
        counts["threads"] = 3  # and a number that is set inside stays
    assert counts["threads"] == 3
    with threads.one_blas_thread():
        assert counts["threads"] == 1
    assert counts["threads"] == 3


def test_real_libraries_are_found_where_there_are_any() -> None:
    assert np.ones((2, 2)) @ np.ones(2) == pytest.approx([2.0, 2.0])
    for get, _ in threads._switches():
        before = get()
        with threads.one_blas_thread():
            assert get() == 1
        assert get() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    with threads._lock:  # as another thread would
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            with threads.one_blas_thread():
                os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_forked_under_the_limit_leaves_it_in_peace(counts: dict[str, int]) -> None:
    with threads.one_blas_thread():
        child = os.fork()
    if child == 0:
        with threads.one_blas_thread():
            inside = threads._users
        os._exit(0 if inside == 1 and threads._users == 0 else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert counts["threads"] == 4
