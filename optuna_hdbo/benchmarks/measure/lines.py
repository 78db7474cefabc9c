"""Results that are kept while a long command runs: one JSON line for each study."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optuna_hdbo.benchmarks.measure import runner


class Lines:
    """The lines of a file, or of none.

    Parameters
    ----------
    path : Path or None
        File to which new lines are appended; ``None`` to keep nothing.

    Raises
    ------
    ValueError
        If the file could not be written, or has other lines.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lines: list[dict[str, Any]] = []
        if path is None:
            return
        runner.check_out(path)
        if path.exists():
            self._lines = _read(path)

    def get(
        self, key: Mapping[str, Any], make: Callable[[], Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        """Return the line that has a key, which is made and appended if there is none."""
        for line in self._lines:
            if all(name in line and line[name] == value for name, value in key.items()):
                return line
        line = {**key, **make()}
        self._lines.append(line)
        if self._path is not None:
            runner.append(self._path, line)
        return line


def _read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, without those that are half-written."""
    lines = []
    for number, text in enumerate(path.read_bytes().splitlines(), 1):
        try:
            line = json.loads(text)
        except ValueError:
            if text.startswith(b"{"):
                runner.say_incomplete(path, number)
                continue
            line = None
        if not isinstance(line, dict):
            raise ValueError(f"{path} is no file of JSON lines. Pass another --out.")
        lines.append(line)
    return lines
