"""Support thresholds of a term extractor, for the one of Wang et al. (2014), section 7.

The paper tunes four thresholds of a program that finds the terms of a biomedical corpus. Neither
is in a package. Here the corpus is generated: sentences of common words, in which terms of one to
four words occur. The extractor takes every sequence of k words that occurs at least as often as
the threshold of length k says. The objective is the F-score of what it takes. It is piecewise
constant, and its maximum is found exactly.
"""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator


LENGTHS = (1, 2, 3, 4)
N_WORDS, N_TERMS, N_SENTENCES = 800, 40, 2000
"""Words of the language, terms of each length, and sentences of the corpus."""

Sequence = tuple[int, ...]


def corpus(rng: np.random.Generator) -> tuple[list[list[int]], set[Sequence]]:
    """Return sentences, as numbers of words, and the terms that were put into them."""
    frequency = 1.0 / np.arange(1, N_WORDS + 1)
    frequency /= frequency.sum()
    terms = {
        tuple(int(word) for word in rng.integers(N_WORDS // 4, N_WORDS, k))
        for k in LENGTHS
        for _ in range(N_TERMS)
    }
    listed = sorted(terms)
    order = rng.permutation(len(listed))
    weights = 1.0 / (5.0 + np.arange(len(listed)))
    weights /= weights.sum()
    sentences = []
    for _ in range(N_SENTENCES):
        words = rng.choice(N_WORDS, int(rng.integers(6, 14)), p=frequency).tolist()
        for _ in range(int(rng.integers(0, 3))):
            place = int(rng.integers(0, len(words) + 1))
            term = listed[order[rng.choice(len(listed), p=weights)]]
            words[place:place] = term
        sentences.append(words)
    return sentences, terms


def found_at(
    sentences: list[list[int]], terms: set[Sequence], k: int
) -> tuple[FloatArray, FloatArray]:
    """Return how many sequences of k words, and terms, occur at least 1, 2, ... times."""
    support = Counter(tuple(s[i : i + k]) for s in sentences for i in range(len(s) - k + 1))
    most = max(support.values())
    taken, right = np.zeros(most + 2), np.zeros(most + 2)
    for sequence, count in support.items():
        taken[count] += 1.0
        right[count] += sequence in terms
    return taken[::-1].cumsum()[::-1][1:], right[::-1].cumsum()[::-1][1:]


@functools.cache
def terms(name: str, seed: int) -> Problem:
    """Build the F-score as a function of four thresholds, each from 1 to none taken, as logs."""
    rng = generator(name, seed)
    sentences, known = corpus(rng)
    tables = [found_at(sentences, known, k) for k in LENGTHS]
    largest = [len(taken) for taken, _ in tables]

    def score(thresholds: list[int]) -> float:
        taken, right = (
            sum(table[part][t - 1] for table, t in zip(tables, thresholds, strict=True))
            for part in (0, 1)
        )
        return float(2.0 * right / (taken + len(known)))

    def evaluate(x: FloatArray) -> float:
        return score([int(np.ceil(m**u - 1e-9)) for m, u in zip(largest, x, strict=True)])

    best = _best(tables, len(known))
    return Problem(
        name=name,
        seed=seed,
        direction="maximize",
        bounds=np.tile([0.0, 1.0], (len(LENGTHS), 1)),
        evaluate=evaluate,
        optimum=score(best),
        argopt=np.array(
            [np.log(max(t - 0.5, 1.0)) / np.log(m) for t, m in zip(best, largest, strict=True)]
        ),
    )


def _best(tables: list[tuple[FloatArray, FloatArray]], n_known: int) -> list[int]:
    """Return the best thresholds: those of the largest 2 right - F (taken + known), F the best.

    For a given F these are one maximum per length, and F rises to its fixed point (Dinkelbach).
    """
    score = 0.0
    while True:
        best = [int(np.argmax(2.0 * right - score * taken)) for taken, right in tables]
        taken, right = (
            sum(t[part][i] for t, i in zip(tables, best, strict=True)) for part in (0, 1)
        )
        higher = float(2.0 * right / (taken + n_known))
        if higher <= score + 1e-15:
            return [i + 1 for i in best]
        score = higher
