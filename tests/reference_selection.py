"""Algorithms 2 to 5 of Shen & Kingsford (2023), line by line, with the paper's indices from 1.

Where the pseudocode leaves something open: a loop that is never left keeps every variable; L_{-1}
in Algorithm 5, which it reads when the leading variable was kept, is L_0; and L_0 is the loss of
what the elimination left, also when that is a single variable.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence


Loss = Callable[[frozenset[int]], float]


def algorithm_2(s: Sequence[int], loss: Loss) -> set[int]:
    D = len(s)
    L: dict[int, float] = {}
    for m in range(1, D + 1):
        L[m] = loss(frozenset(s[:m]))
        if m < 3:
            continue
        elif L[m - 1] - L[m] <= 0 or L[m - 1] - L[m] < (L[m - 2] - L[m - 1]) / 10:
            break
    else:
        return set(s)
    return set(s[: m - 1])


def algorithm_4(s: Sequence[int], old: set[int], loss: Loss) -> set[int]:
    D = len(s)
    for n in range(1, D + 1):
        if s[n - 1] not in old:
            break
    else:
        return set(s)
    L: dict[int, float] = {}
    for m in range(n, D + 1):
        L[m] = loss(frozenset(s[:m]))
        if m - n < 2:
            continue
        elif L[m - 1] - L[m] <= 0 or L[m - 1] - L[m] < (L[m - 2] - L[m - 1]) / 10:
            break
    else:
        return set(s)
    return set(s[: m - 1])


def algorithm_5(s: Sequence[int], s_prime: Sequence[int], loss: Loss) -> set[int]:
    D, w = len(s), len(s_prime)
    L_hat = {w: loss(frozenset(s_prime))}
    for m in range(w - 1, -1, -1):
        if m == 0:
            ipt = {s_prime[0]}
            L_0 = L_hat[1]
            break
        L_hat[m] = loss(frozenset(s_prime[:m]))
        if L_hat[m] > L_hat[m + 1]:
            ipt = set(s_prime[: m + 1])
            L_0 = L_hat[m + 1]
            break
    L = {-1: L_0, 0: L_0}
    for m in range(1, D + 1):
        if s[m - 1] in ipt:
            L[m], L[m - 1] = L[m - 1], L[m - 2]
            continue
        L[m] = loss(frozenset(ipt | {s[m - 1]}))
        if m < 2:
            ipt = ipt | {s[m - 1]}
            continue
        elif L[m - 1] - L[m] <= 0 or L[m - 1] - L[m] < (L[m - 2] - L[m - 1]) / 10:
            break
        ipt = ipt | {s[m - 1]}
    return ipt
