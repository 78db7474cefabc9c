"""A likelihood of distances, for the astrophysical one of Kandasamy et al. (2015), section 5.2.

The paper fits nine parameters, among eleven without effect, to galaxies of the Sloan survey, by a
program of another paper. Neither is in a package. Here the data are 192 supernovae, as many as
Davis et al. (2007) have. They are simulated from a stated cosmology: a flat universe with a matter
density of 0.27 and a cosmological constant. The nine parameters are those of that kind of fit:
densities of matter and dark energy, its equation of state w0 + wa z / (1 + z), the absolute
magnitude (with the Hubble constant in it), and corrections for a supernova's stretch, its colour,
the mass of its host, and scatter.

The largest likelihood is what climbs from the truth find. It is not proven.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import names


N_SUPERNOVAE = 192
LARGEST_REDSHIFT = 1.8

BOX = np.array(
    [
        [0.0, 1.0],
        [0.0, 1.5],
        [-2.0, 0.0],
        [-2.0, 2.0],
        [-0.5, 0.5],
        [0.0, 0.3],
        [0.0, 5.0],
        [-0.2, 0.2],
        [-2.0, 0.0],
    ]
)
"""Omega_m, Omega_de, w0, wa, magnitude, stretch, colour, mass step, log10 of the scatter."""

TRUTH = np.array([0.27, 0.73, -1.0, 0.0, 0.0, 0.14, 3.1, 0.05, -1.0])


def modulus(z: FloatArray, cosmology: FloatArray) -> FloatArray:
    """Return 5 log10 of luminosity distances in units of c / H0, at redshifts z (n,).

    ``cosmology`` is (Omega_m, Omega_de, w0, wa). A universe without a big bang has its expansion
    rate bounded from below instead, so that the likelihood is finite everywhere.
    """
    matter, dark, w0, wa = cosmology
    curvature = 1.0 - matter - dark
    grid = np.linspace(0.0, LARGEST_REDSHIFT, 181)
    a = 1.0 + grid
    density = a ** (3.0 * (1.0 + w0 + wa)) * np.exp(-3.0 * wa * grid / a)
    rate = np.sqrt(np.maximum(matter * a**3 + dark * density + curvature * a**2, 1e-2))
    steps = 0.5 * (1.0 / rate[1:] + 1.0 / rate[:-1]) * np.diff(grid)
    comoving = np.interp(z, grid, np.concatenate([[0.0], np.cumsum(steps)]))
    root = np.sqrt(abs(curvature))
    if curvature > 1e-8:
        comoving = np.sinh(root * comoving) / root
    elif curvature < -1e-8:
        comoving = np.sin(root * comoving) / root
    return np.asarray(5.0 * np.log10((1.0 + z) * np.maximum(comoving, 1e-4)), np.float64)


def simulate(rng: np.random.Generator) -> Callable[[FloatArray], float]:
    """Draw supernovae under :data:`TRUTH`; return their log likelihood, of parameters (9,)."""
    z = np.sort(rng.uniform(0.02, LARGEST_REDSHIFT**0.5, N_SUPERNOVAE) ** 2)
    stretch, colour = rng.standard_normal(len(z)), 0.1 * rng.standard_normal(len(z))
    heavy = rng.random(len(z)) < 0.5
    error = rng.uniform(0.08, 0.2, len(z))

    def predicted(p: FloatArray) -> FloatArray:
        corrections = p[4] - p[5] * stretch + p[6] * colour - p[7] * heavy
        return np.asarray(modulus(z, p[:4]) + corrections, np.float64)

    spread = np.sqrt(error**2 + 10.0 ** (2.0 * TRUTH[8]))
    observed = predicted(TRUTH) + spread * rng.standard_normal(len(z))

    def log_likelihood(p: FloatArray) -> float:
        variance = error**2 + 10.0 ** (2.0 * p[8])
        squares = (observed - predicted(p)) ** 2 / variance
        return -0.5 * float(np.sum(squares + np.log(2.0 * np.pi * variance)))

    return log_likelihood


def supernovae(dim: int) -> Build:
    """Build likelihoods of nine parameters among others without effect, all in [0, 1]."""

    @functools.cache
    def build(name: str, seed: int) -> Problem:
        rng = generator(name, seed)
        active = rng.permutation(dim)[: len(BOX)]
        log_likelihood = simulate(rng)
        low, high = BOX.T

        def of_unit(u: FloatArray) -> float:
            return log_likelihood(low + (high - low) * u)

        cube = [(0.0, 1.0)] * len(BOX)
        start = (TRUTH - low) / (high - low)
        for method in ("L-BFGS-B", "Nelder-Mead", "L-BFGS-B"):
            found = minimize(lambda u: -of_unit(u), start, method=method, bounds=cube)
            start = found.x if -found.fun > of_unit(start) else start
        argopt = np.full(dim, 0.5)
        argopt[active] = start
        return Problem(
            name=name,
            seed=seed,
            direction="maximize",
            bounds=np.tile([0.0, 1.0], (dim, 1)),
            evaluate=lambda x: of_unit(x[active]),
            optimum=of_unit(start),
            argopt=argopt,
            inert=names(sorted(set(range(dim)) - set(active.tolist()))),
        )

    return build
