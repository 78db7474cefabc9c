"""Run samplers on problems in worker processes and write the results, one JSON line per run."""

from __future__ import annotations

import importlib.util
import itertools
import json
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED
from concurrent.futures import Future
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import wait
from contextlib import contextmanager
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from optuna_hdbo import __version__
from optuna_hdbo._core.checks import check_integer
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks import use_one_thread
from optuna_hdbo.benchmarks.measure import multi
from optuna_hdbo.benchmarks.measure.clock import timed_trials
from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.problems.suites import multi as multi_problems
from optuna_hdbo.benchmarks.rivals import registry
from optuna_hdbo.structure import get_selections


@dataclass(frozen=True)
class Run:
    """One study to run. It is also the key of its result."""

    problem: str
    rival: str
    seed: int
    n_trials: int


def plan(
    names: Sequence[str], labels: Sequence[str], seeds: Sequence[int], n_trials: int
) -> list[Run]:
    """Return the runs of a grid, problem by problem, seed by seed.

    Raises
    ------
    ValueError
        If a name or a setting is wrong, or a seed does not have the problem's purpose. This is
        checked before any run begins.
    """
    check_integer("n_trials", n_trials, 1)
    if not (names and labels and seeds):
        raise ValueError("there must be at least one problem, one rival and one seed.")
    parsed = [registry.parse(label) for label in labels]
    for name in names:
        for seed in seeds:
            catalogue.check_seed(name, seed)
        if multi_problems.is_known(name):
            problem = multi_problems.make(name).first(seeds[0])
        else:
            problem = catalogue.make(name, seeds[0])
        for rival in parsed:
            rival.build(problem, seeds[0])
    return [Run(name, r, seed, n_trials) for name in names for seed in seeds for r in labels]


def execute(run: Run) -> dict[str, Any]:
    """Run one study and return its result, ready for JSON.

    Time is that of the sampler and Optuna: ``ask``, every ``suggest`` and ``tell``, without the
    objective. CPU time counts all threads of the process.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if multi_problems.is_known(run.problem):
        return multi.execute(run.problem, run.rival, run.seed, run.n_trials)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    problem = catalogue.make(run.problem, run.seed)
    rival = registry.parse(run.rival)
    sampler = rival.build(problem, run.seed)
    study = optuna.create_study(direction=problem.direction, sampler=sampler)
    regret, wall, cpu = np.empty(run.n_trials), np.empty(run.n_trials), np.empty(run.n_trials)
    trials = timed_trials(study, problem, run.n_trials, rival.n_workers, run.seed)
    for t, (value, clock) in enumerate(trials):
        regret[t], wall[t], cpu[t] = problem.regret(value), clock.wall, clock.cpu
    result = {
        "problem": run.problem,
        "rival": run.rival,
        "seed": run.seed,
        "n_trials": run.n_trials,
        "purpose": problem.purpose,
        "regret": _rounded(np.minimum.accumulate(regret), 6),
        "mean_regret": _rounded([regret.mean()], 6)[0],
        "average_regret": _rounded(np.cumsum(regret) / np.arange(1, run.n_trials + 1), 4),
        "wall": _summary(wall),
        "cpu": _summary(cpu),
        "versions": {
            "optuna": optuna.__version__,
            "optuna_hdbo": __version__,
            "numpy": np.__version__,
        },
    }
    predictions = _predictions(study)
    if predictions:
        result["predictions"] = predictions
    with suppress(ValueError):  # of a sampler that selects nothing
        result["selections"] = [list(s.parameters) for s in get_selections(study)]
        result["best_point"] = _rounded([study.best_params[n] for n in problem.names], 6)
    return result


def _predictions(study: optuna.Study) -> list[list[float]]:
    """Return number, predicted value, its standard deviation and the value of each such trial."""
    rows = []
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,)):
        said = trial.user_attrs
        if "hdbo:predicted" in said and "hdbo:std" in said and trial.value is not None:
            # Not rounded: a deviation may be a millionth of the mean.
            rows.append([trial.number, said["hdbo:predicted"], said["hdbo:std"], trial.value])
    return rows


def _summary(seconds: FloatArray) -> dict[str, Any]:
    numbers = _rounded([float(np.median(seconds)), seconds.mean(), seconds.sum()], 4)
    summary = dict(zip(("median", "mean", "total"), numbers, strict=True))
    return {**summary, "per_trial": _rounded(seconds, 4)}


def _rounded(numbers: Iterable[float], digits: int) -> list[float]:
    return [float(f"{number:.{digits}g}") for number in numbers]


def check_out(path: Path, option: str = "--out") -> None:
    """Raise ``ValueError`` unless a file can be written to the path of an option."""
    if path.is_dir():
        raise ValueError(f"{option} must be a file, but {path} is a folder.")
    if not path.parent.is_dir():
        raise ValueError(f"{option} must be in a folder that exists, but {path.parent} does not.")


def read(path: Path) -> list[dict[str, Any]]:
    """Read a results file, leaving out lines that are not results, such as half-written ones.

    Raises
    ------
    ValueError
        If the path is a folder.
    """
    if path.is_dir():
        raise ValueError(f"a results file is needed, but {path} is a folder.")
    if not path.exists():
        return []
    results = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            result = json.loads(line.decode("utf-8"))
            _check(result)
        except (ValueError, KeyError, TypeError):
            say_incomplete(path, number)
        else:
            results.append(result)
    return results


def say_incomplete(path: Path, number: int) -> None:
    """Say that a line is left out."""
    print(f"Line {number} of {path.name} is incomplete and is left out.", file=sys.stderr)


def _check(result: Mapping[str, Any]) -> None:
    """Raise an error unless a result names its run, with values of the right types."""
    key = _key(result)
    texts = key.problem, key.rival, result["purpose"]
    numbers = key.seed, key.n_trials
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    if not all(isinstance(number, int) for number in numbers):
        raise TypeError


def _key(result: Mapping[str, Any]) -> Run:
    return Run(result["problem"], result["rival"], result["seed"], result["n_trials"])


def append(path: Path, result: Mapping[str, Any]) -> None:
    """Append a line in one write, so that two writers of one file do not mix lines."""
    line = json.dumps(result) + "\n"
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            line = line if file.read(1) == b"\n" else "\n" + line
        file.write(line.encode())


def run_all(runs: Sequence[Run], out: Path, jobs: int = 1) -> int:
    """Run what ``out`` does not have yet; return the number of failed runs.

    A run that fails is named on standard error and not written. So it is tried again when the
    same command is run again.
    """
    finished = {_key(result) for result in read(out)}
    to_do = [run for run in dict.fromkeys(runs) if run not in finished]
    print(f"{len(to_do)} of {len(runs)} runs to do.", file=sys.stderr)
    use_one_thread()  # read by the workers, which are started afresh
    n_failed = 0
    with _workers(jobs) as pool, _progress(len(to_do)) as say:
        for run, future in _completed(pool, to_do, jobs):
            label = f"{run.problem} {run.rival} seed {run.seed}"
            error = future.exception()
            if error is not None:
                n_failed += 1
                say(f"{label}: failed: {error!r}")
                continue
            result = future.result()
            append(out, result)
            reached = "regret" if "regret" in result else "hypervolume"
            say(f"{label}: {reached} {result[reached][-1]:.4g}, {result['wall']['total']:.1f} s")
    return n_failed


def _workers(jobs: int) -> ProcessPoolExecutor:
    """Return a pool of fresh processes that end when this one ends."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    # A pool's workers would compute on, and then wait for ever, where their parent was killed.
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that reports a finished run on standard error, by a bar or by lines."""
    if sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None:
        with importlib.import_module("tqdm").tqdm(total=total, unit="run") as bar:

            def say(text: str) -> None:
                bar.write(text, file=sys.stderr)
                bar.update()

            yield say
    else:
        count = itertools.count(1)
        yield lambda text: print(f"[{next(count)}/{total}] {text}", file=sys.stderr, flush=True)


def _completed(
    pool: ProcessPoolExecutor, runs: Sequence[Run], jobs: int
) -> Iterator[tuple[Run, Future[dict[str, Any]]]]:
    """Yield runs as they finish. Few of them are queued, so that an interrupt stops soon."""
    queue = iter(runs)
    pending = {pool.submit(execute, run): run for run in itertools.islice(queue, jobs)}
    while pending:
        finished, _ = wait(pending, return_when=FIRST_COMPLETED)
        for future in finished:
            run = pending.pop(future)
            for following in itertools.islice(queue, 1):
                pending[pool.submit(execute, following)] = following
            yield run, future
