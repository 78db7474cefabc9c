"""Thresholds of a cascade of classifiers, for the face detector of Kandasamy et al. (2015), 5.3.

The paper searches the 22 thresholds of Viola and Jones's cascade, around those of a library, for
the best accuracy on 1000 images. Neither the images nor the cascade are in a package that this one
needs. Here the images are 1000 of scikit-learn's digits, half of them with a closed loop (0, 6, 8
and 9), and the cascade of 22 stages is trained on them in the same manner: a stage is a boosted
sum of few stumps on differences of two rectangles, and it learns from what the earlier stages let
pass. Its threshold lets 99.5 % of the positive images pass. Stumps are smooth, so that every
threshold matters.
"""

from __future__ import annotations

import functools

import numpy as np

from optuna_hdbo._core.domain import BoolArray
from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator


N_STAGES = 22
N_IMAGES = 1000
WITH_LOOP = (0, 6, 8, 9)

N_RECTANGLES = 24
"""Differences of two rectangles that a stump is chosen from."""

PASS = 0.005
"""Share of the positive images that a trained threshold rejects."""


def _differences(images: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the means of random rectangles of images (n, 8, 8) less those of others, (n, m)."""
    columns = []
    for _ in range(N_RECTANGLES):
        means = []
        for _ in range(2):
            low = rng.integers(0, 6, 2)
            high = low + rng.integers(2, 5, 2)
            means.append(images[:, low[0] : high[0], low[1] : high[1]].mean(axis=(1, 2)))
        columns.append(means[0] - means[1])
    return np.stack(columns, axis=1)


def stage(
    images: FloatArray, signs: FloatArray, n_stumps: int, rng: np.random.Generator
) -> FloatArray:
    """Boost stumps on images (n, 8, 8) with signs (n,); return the images' scores (n,).

    Images whose sign is 0 get a score and teach nothing.
    """
    scores = np.zeros(len(signs))
    for _ in range(n_stumps):
        F = _differences(images, rng)
        F = (F - F.mean(axis=0)) / (F.std(axis=0) + 1e-9)
        weights = np.abs(signs) * np.exp(-signs * scores)
        weights /= weights.sum()
        cuts = np.quantile(F, np.linspace(0.1, 0.9, 5), axis=0)
        votes = np.tanh(3.0 * (F - cuts[:, None]))  # (cuts, n, features)
        edges = np.einsum("cnf,n->cf", votes, weights * signs)
        c, f = np.unravel_index(np.abs(edges).argmax(), edges.shape)
        edge = float(np.clip(edges[c, f], -0.999, 0.999))
        scores += 0.5 * np.log((1.0 + edge) / (1.0 - edge)) * votes[c, :, f]
    return scores


def train(
    images: FloatArray, positive: BoolArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the scores of images (n, 8, 8) in every stage, (n, K), and thresholds (K,)."""
    scores, thresholds = np.empty((len(images), N_STAGES)), np.empty(N_STAGES)
    alive = np.ones(len(images), np.bool_)
    for k in range(N_STAGES):
        teaching = positive | alive if (alive & ~positive).sum() >= 20 else alive | True
        signs = np.where(positive, 1.0, -1.0) * teaching
        scores[:, k] = stage(images, signs, 2 + k // 6, rng)
        thresholds[k] = np.quantile(scores[positive, k], PASS)
        alive &= scores[:, k] >= thresholds[k]
    return scores, thresholds


@functools.cache
def cascade(name: str, seed: int) -> Problem:
    """Build the accuracy of a cascade as a function of its thresholds."""
    from sklearn.datasets import load_digits

    rng = generator(name, seed)
    digits = load_digits()
    loops = np.isin(digits.target, WITH_LOOP)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(loops == side), N_IMAGES // 2, False) for side in (True, False)]
    )
    images, positive = digits.images[rows] / 16.0, loops[rows]
    scores, thresholds = train(images, positive, rng)
    reach = scores.std(axis=0)

    def accuracy(x: FloatArray) -> float:
        accepted = (scores >= thresholds + reach * x).all(axis=1)
        return float((accepted == positive).mean())

    return Problem(
        name=name,
        seed=seed,
        direction="maximize",
        bounds=np.tile([-1.0, 1.0], (N_STAGES, 1)),
        evaluate=accuracy,
        optimum=1.0,
        argopt=None,
    )
