"""Times of compiled kernels and of whole trials, to compare with earlier ones on one machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.gp.kernel import Kernel
from optuna_hdbo._core.gp.kernel import join
from optuna_hdbo._core.gp.likelihood import log_likelihood
from optuna_hdbo._core.gp.posterior import Factor
from optuna_hdbo._core.gp.posterior import Posterior
from optuna_hdbo.benchmarks.measure.overhead import Size
from optuna_hdbo.benchmarks.measure.overhead import measure


Times = dict[str, float]

TOLERANCE = 1.3
"""A time is worse if it exceeds the earlier one by this factor. Times vary by some 10 %."""

_SEED = 0


def kernels(size: Size) -> dict[str, Callable[[], object]]:
    """Return the compiled steps of a trial at a size, by name."""
    rng = np.random.default_rng(_SEED)
    dim, n = size.dim, size.n_trials
    X, Z = rng.random((n, dim)), rng.random((500, dim))
    lengthscales = rng.uniform(0.5, 1.5, dim) * np.sqrt(dim)
    categorical = np.zeros(dim, np.bool_)
    kernel = Kernel(
        "matern52", join([list(range(dim))]), lengthscales, np.ones(1), 1e-4, categorical
    )
    y = np.sin(X.sum(axis=1))
    y = (y - y.mean()) / y.std()
    posterior = Posterior(Factor(kernel, X), y)
    improvement = Analytic.log_ei(posterior, float(y.max()))
    free = np.ones(dim, np.bool_)
    return {
        "covariance matrix": lambda: kernel.gram(X),
        "likelihood and gradient": lambda: log_likelihood(kernel, X, y),
        "500 predictions": lambda: posterior.predict(Z),
        "500 improvements": lambda: improvement(Z),
        "ascent from 10 points": lambda: improvement.ascend(Z[:10], free),
    }


def cpu_of(call: Callable[[], object], n_times: int) -> float:
    """Return the shortest CPU time of some calls, in ms: other work can only lengthen them."""
    call()  # which compiles
    times = []
    for _ in range(n_times):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def measure_speed(labels: Sequence[str], sizes: Sequence[Size], n_times: int) -> Times:
    """Return milliseconds of CPU time by the name of the step or trial."""
    times: Times = {}
    for size in sizes:
        where = f"{size.dim} parameters, {size.n_trials} trials"
        for name, call in kernels(size).items():
            times[f"{where}: {name}"] = cpu_of(call, n_times)
        for timed in measure(labels, size, n_times):
            times[f"{where}: trial of {timed.rival}"] = 1e3 * float(np.median(timed.cpu))
    return {name: float(f"{ms:.4g}") for name, ms in times.items()}


def table(times: Mapping[str, float], earlier: Mapping[str, float]) -> str:
    """Return a Markdown table of times, beside earlier ones where there are some."""
    lines = ["| what | ms | earlier | ratio |", "|---|---:|---:|---:|"]
    for name, ms in times.items():
        before = earlier.get(name)
        cells = "| | |" if before is None else f"| {before:.3g} | {ms / max(before, 1e-9):.2f} |"
        lines.append(f"| {name} | {ms:.3g} {cells}")
    return "\n".join(lines)


def worse(times: Mapping[str, float], earlier: Mapping[str, float]) -> list[str]:
    """Return the names of what has become slower by more than chance explains."""
    return [
        name
        for name, ms in times.items()
        if name in earlier and ms > TOLERANCE * earlier[name] + 0.01
    ]


def read(path: Path) -> Times:
    """Read earlier times; ``ValueError`` where a file has none."""
    try:
        times = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): float(ms) for name, ms in times.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{path} must be a file that --out has written, but: {error}") from error
