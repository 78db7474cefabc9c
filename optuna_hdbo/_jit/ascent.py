"""Projected L-BFGS: climb an acquisition function within the unit cube.

Coordinates at a bound that the gradient pushes outwards are held. The others follow the direction
of the two-loop recursion and are clipped, so that bounds are reached exactly. Steps and gradients
are in units of the lengthscales, in which the function varies alike in every direction.

A feature is that of one column, or a mixture of all columns: their product with ``root``. Points
and steps are in columns either way.

In all functions ``here`` and ``there`` are the current and the next point, ``grad`` and
``new_grad`` their gradients, ``step`` is the direction, and ``free`` marks the columns that may
move: (C,) each. The last changes of point and gradient are ``ds`` and ``dg (N_PAIRS, C)``, with
``rho (N_PAIRS,)`` = 1 / (ds . dg).
"""

from __future__ import annotations

import numpy as np

from optuna_hdbo._jit.acquisition import evaluate
from optuna_hdbo._jit.acquisition import evaluate_sum
from optuna_hdbo._jit.acquisition import mix
from optuna_hdbo._jit.compile import compiled
from optuna_hdbo._jit.compile import inlined
from optuna_hdbo._jit.compile import internal


FIRST_STEP = 0.2
"""Length of a climb's first step, in lengthscales."""

N_PAIRS = 8
"""Steps that the L-BFGS direction remembers."""

N_LENGTHS = 20
"""Lengths that a line search tries, each .3 of the one before."""


@compiled
def ascend(one, several, inverse, free, x, n_steps, tol):
    """Climb from every row of ``x (S, D)``, in place, and return the values reached (S,).

    Numba compiles this for one acquisition and, where there are constraints, for several.

    Parameters
    ----------
    one : tuple or None
        The acquisition to climb: its model, what features are of all columns ``(D, D)``, the code
        and ``p``. The second is empty where features are columns in their units.
    several : Terms or None
        Acquisitions whose sum is to be climbed.
    inverse : FloatArray, shape (D,)
        Inverse units of the columns.
    free : BoolArray, shape (D,)
        The columns that may move.
    x : FloatArray, shape (S, D)
    n_steps : int
    tol : float
        A climb ends where no component of the gradient exceeds this or a step gains less than a
        hundredth of it.
    """
    n = 0
    if one is not None:
        n = len(one[0].alpha)
    if several is not None:
        n = several.alpha.shape[1]
    n_columns = x.shape[1]
    work, f, part = np.empty((4, n)), np.empty(n_columns), np.empty(n_columns)
    grad, new_grad = np.empty(n_columns), np.empty(n_columns)
    here, there, step = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    ds, dg = np.empty((N_PAIRS, n_columns)), np.empty((N_PAIRS, n_columns))
    rho, gain = np.empty(N_PAIRS), np.empty(N_PAIRS)
    values = np.empty(x.shape[0])
    full = np.bool_(True)  # a literal argument would compile the callee once more
    for i in range(x.shape[0]):
        for c in range(n_columns):  # loops: numba compiles array assignment for a second
            here[c] = x[i, c]
            f[c] = here[c] * inverse[c]
        value = height(one, several, here, inverse, work, f, part, full, grad)
        stored = np.int64(0)  # no literal, as above
        for _ in range(n_steps):
            largest = project(here, grad, free, step)
            if not largest > tol:
                break
            ascent = 0.0
            if stored > 0:
                ascent = two_loop(ds, dg, rho, gain, stored, grad, here, free, step)
            if not ascent > 0.0:
                stored = 0
                project(here, grad, free, step)
                for c in range(n_columns):
                    step[c] = FIRST_STEP * step[c] / largest
            length = 1.0
            improved = False
            for _ in range(N_LENGTHS):
                moved, promised = move(here, grad, free, step, length, inverse, there, f)
                if moved < 1e-12:
                    break
                new_value = height(one, several, there, inverse, work, f, part, full, new_grad)
                improved = new_value >= value + 1e-4 * promised and promised > 0.0
                if improved:
                    break
                length *= 0.3
            if not improved:
                if stored == 0:
                    break
                stored = 0
                continue
            stored = remember(here, there, grad, new_grad, inverse, ds, dg, rho, stored)
            change = new_value - value
            value = new_value
            for c in range(n_columns):
                here[c] = there[c]
                grad[c] = new_grad[c]
            if change < 0.01 * tol * max(1.0, abs(value)):
                break
        for c in range(n_columns):
            x[i, c] = here[c]
        values[i] = value
    return values


@inlined
def height(one, several, x, inverse, work, f, part, full, grad):
    """Return the value at a point and write the gradient by the columns, in their units.

    For one acquisition, ``f (D,)`` has the features unless these are mixtures of all columns.
    """
    value = 0.0
    if one is not None:
        model, root, code, p = one
        if len(root) > 0:
            mix(root, x, f)
        value = evaluate(model, f, code, p, work, full, grad)
        if len(root) > 0:
            unmix(root, inverse, grad, part)
    if several is not None:
        value = evaluate_sum(several, x, inverse, work, f, part, grad)
    return value


@internal
def unmix(root, inverse, grad, mixed):
    """Replace a gradient by the features with that by the columns, in units of these."""
    for c in range(len(grad)):
        mixed[c] = grad[c]
    for d in range(len(grad)):
        total = 0.0
        for c in range(len(grad)):
            total += root[d, c] * mixed[c]
        grad[d] = total / inverse[d]


@inlined
def is_held(x, slope, free):
    """Tell whether a coordinate stays: it is not free, or at a bound and pushed outwards."""
    return (x <= 0.0 and slope < 0.0) or (x >= 1.0 and slope > 0.0) or not free


@inlined
def project(here, grad, free, step):
    """Write the projected gradient to ``step`` and return its largest component."""
    largest = 0.0
    for c in range(len(step)):
        step[c] = 0.0 if is_held(here[c], grad[c], free[c]) else grad[c]
        largest = max(largest, abs(step[c]))
    return largest


@inlined
def move(here, grad, free, step, length, inverse, there, f):
    """Go a part of the step; return the largest change and the ascent that the gradient promises.

    ``f (C,)`` receives the features of the next point.
    """
    moved = 0.0
    promised = 0.0
    for c in range(len(here)):
        there[c] = here[c]
        if free[c]:  # the others may hold the number of a choice, outside [0, 1]
            there[c] = min(max(here[c] + length * step[c] / inverse[c], 0.0), 1.0)
        moved = max(moved, abs(there[c] - here[c]))
        promised += grad[c] * (there[c] - here[c]) * inverse[c]
        f[c] = there[c] * inverse[c]
    return moved, promised


@inlined
def remember(here, there, grad, new_grad, inverse, ds, dg, rho, stored):
    """Take in the changes of a step; return how many are stored, 0 where curvature is lacking."""
    slot = stored % N_PAIRS
    curvature = 0.0
    for c in range(len(here)):
        ds[slot, c] = (there[c] - here[c]) * inverse[c]
        dg[slot, c] = grad[c] - new_grad[c]
        curvature += ds[slot, c] * dg[slot, c]
    if curvature > 1e-14:
        rho[slot] = 1.0 / curvature
        return stored + 1
    return 0


@internal
def two_loop(ds, dg, rho, gain, stored, grad, here, free, step):
    """Turn the projected gradient in ``step`` into the L-BFGS direction; return its ascent.

    Algorithm 7.4 of Nocedal & Wright (2006) with the last of ``stored`` pairs; ``gain
    (N_PAIRS,)`` is work space.
    """
    memory, n_columns = ds.shape
    first = max(0, stored - memory)
    for q in range(stored - 1, first - 1, -1):
        slot = q % memory
        total = 0.0
        for c in range(n_columns):
            total += ds[slot, c] * step[c]
        gain[slot] = rho[slot] * total
        for c in range(n_columns):
            step[c] -= gain[slot] * dg[slot, c]
    slot = (stored - 1) % memory
    total = 0.0
    for c in range(n_columns):
        total += dg[slot, c] ** 2
    for c in range(n_columns):
        step[c] /= rho[slot] * total
    for q in range(first, stored):
        slot = q % memory
        total = 0.0
        for c in range(n_columns):
            total += dg[slot, c] * step[c]
        for c in range(n_columns):
            step[c] += (gain[slot] - rho[slot] * total) * ds[slot, c]
    ascent = 0.0
    for c in range(n_columns):
        if is_held(here[c], grad[c], free[c]):
            step[c] = 0.0
        ascent += step[c] * grad[c]
    return ascent
