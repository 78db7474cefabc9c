"""Tables of the pages have the figures of the results that are kept in ``docs/results``."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from documented import DOCS
from documented import PAGES
from documented import slug


RESULTS = DOCS / "results"


@pytest.fixture(scope="module")
def folder() -> Iterator[Any]:
    """The modules of ``docs/results``, which is no package."""
    before = set(sys.modules)
    sys.path.insert(0, str(RESULTS))
    names = ("kept", "readme_example", "tables")
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    sys.path.remove(str(RESULTS))
    for name in set(sys.modules) - before:
        if RESULTS in Path(getattr(sys.modules[name], "__file__", None) or "/").parents:
            del sys.modules[name]


def read(page: str) -> str:
    return (DOCS / f"{page}.md").read_text("utf-8")


def test_rows_are_those_of_the_kept_results(folder: Any) -> None:
    assert len(folder.tables.TABLES) >= 18
    for page, rows in folder.tables.TABLES:
        lines = read(page).splitlines()
        missing = [row for row in rows() if row not in lines]
        assert missing == [], page


def test_sentences_have_the_figures_of_the_kept_results(folder: Any) -> None:
    for page, parts in folder.tables.SENTENCES:
        text = " ".join(read(page).split())
        missing = [part for part in parts() if part not in text]
        assert missing == [], page


def tables_of(page: str) -> list[tuple[str, list[str]]]:
    """Return (anchor of the heading above, rows) of the tables of a page that have figures."""
    text = re.sub(r"```.*?```", "", read(page), flags=re.DOTALL)
    anchor = ""
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip().splitlines()
        if lines and lines[0].startswith("#"):
            anchor = slug(lines[0].lstrip("# "))
        rows = lines[2:] if len(lines) > 2 and re.match(r"\|[\s:|-]+\|$", lines[1]) else []
        cells = [cell for row in rows for cell in row.strip("|").split("|")[1:]]
        figures = [cell for cell in cells if re.match(r"\s*[*<]*-?[\d.]+", cell)]
        if rows and 2 * len(figures) >= len(cells):
            found.append((anchor, rows))
    return found


def listed(heading: str) -> set[str]:
    """Return the links of a section of the page on evidence."""
    section = read("evidence").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"\]\(([\w/-]+\.md#[\w-]+)\)", section))


def test_every_table_is_made_from_kept_results_or_said_not_to_be(folder: Any) -> None:
    made: dict[str, list[str]] = {}
    for page, rows in folder.tables.TABLES:
        made.setdefault(page, []).extend(rows())
    kept, others = set(), set()
    pages = [path.relative_to(DOCS) for path in PAGES if DOCS in path.parents]
    for page in sorted(path.with_suffix("").as_posix() for path in pages):
        for anchor, rows in tables_of(page):
            remade = [row in made.get(page, []) for row in rows]
            if any(remade):
                kept.add(f"{page}.md#{anchor}")
            if not all(remade):
                others.add(f"{page}.md#{anchor}")
    assert len(kept) >= 20
    assert listed("Tables that are made from kept results") == kept
    assert listed("Tables without kept results") == others


def test_files_of_results_are_small_and_named(folder: Any) -> None:
    named = set(re.findall(r"`docs/results/(\w+\.jsonl)`", read("evidence")))
    files = {path.name: path.stat().st_size for path in RESULTS.glob("*.jsonl")}
    assert named == set(files)
    assert sum(files.values()) < 416_000


RUN = {
    "problem": "levy-20",
    "rival": "gp",
    "seed": 3,
    "regret": [5.0, 3.0, 2.5],
    "hypervolume": [1.0, 2.0],
    "cpu": {"total": 0.25},
}


def test_results_are_kept(folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = folder.kept
    (line,) = kept.keep([{**RUN, "regret": [9.0] * 3}, RUN, {**RUN, "seed": 1}], "regret", [1, 3])
    assert line["runs"] == {"3": [5.0, 2.5], "1": [5.0, 2.5]}
    assert kept.keep([RUN], "hypervolume", [])[0]["runs"] == {"3": [2.0]}
    assert kept.keep([RUN], "cpu", [])[0]["runs"] == {"3": [0.25]}
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    kept.write("some", [line])
    kept.write("some", kept.keep([RUN], "cpu", []))
    found = kept.Kept("some")
    assert (found.problems(), found.rivals()) == (["levy-20"], ["gp"])
    seeds, numbers = found.runs("levy-20", "gp")
    assert (seeds, numbers.tolist()) == ([1, 3], [[5.0, 2.5], [5.0, 2.5]])
    assert found.last("levy-20", "gp", "cpu").tolist() == [0.25]
    assert found.last("levy-20", "random").tolist() == []


def test_the_script_of_the_readme_example_runs(folder: Any) -> None:
    lines = folder.readme_example.main(n_seeds=1, n_trials=(6,))
    assert [line["n_trials"] for line in lines] == [6] * len(folder.readme_example.SAMPLERS)
