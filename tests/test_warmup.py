"""The command that compiles everything. The suite begins with it."""

from __future__ import annotations

from collections.abc import Iterator

import optuna
import pytest

from optuna_hdbo.__main__ import main


@pytest.fixture
def verbosity() -> Iterator[None]:
    """Undo that the command silences Optuna, which is for a process of its own."""
    before = optuna.logging.get_verbosity()
    yield
    optuna.logging.set_verbosity(before)


@pytest.mark.usefixtures("verbosity")
def test_the_command_says_how_long_it_took_and_where_the_code_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["warmup"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("Compiled or loaded everything in ")
    assert second.startswith(("The compiled code is cached in ", "Nothing is cached."))
