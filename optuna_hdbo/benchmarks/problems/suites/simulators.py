"""Small simulators and fits of real parameters, as engineers and scientists write them.

wave-6
    Three frequencies and amplitudes of a frequency-modulated sound wave, fitted to a wave
    (problem 1 of the CEC 2011 competition, Das & Suganthan 2010).
predators-6, epidemic-10
    Rates of the Lotka-Volterra equations, and of an epidemic whose contacts change, fitted to what
    such a model has given.
atoms-12, atoms-18
    Places of six and eight atoms with the least Lennard-Jones energy.
charges-16, charges-24
    Places of eight and twelve equal charges on a sphere with the least energy.
packing-16
    Eight points in a square, as far from each other as possible.
antenna-20
    Amplitudes and distances of ten aerials: the strongest lobe beside the wanted direction.
radar-16
    Phases of a radar's code: its largest autocorrelation (problem 7 of CEC 2011).
truss-10
    Cross-sections of a truss of ten bars: its weight, with penalties for stress and displacement.
windfarm-24
    Places of twelve turbines: the power that is lost in the wakes of others, and a penalty for
    turbines that are too close.
heating-18
    Three heaters of a ring, over time: how far its last temperatures are from the wanted ones, and
    a little for the power.
landing-10, landing-20
    Thrust and steering of a rocket over time: its distance from a soft landing, and its fuel.
pole-24
    Weights of a small network that is to swing a pole up and keep it there.
irises-12, wines-39
    Centres of three clusters of scikit-learn's irises and wines.

All parameters are in [0, 1]. The seed draws what is to be fitted, the antenna's direction, the
winds, the wanted temperatures and the rocket's start. The other problems are the same for all
seeds. Where a least value is not known, 0 is a bound.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from optuna_hdbo._core.domain import FloatArray
from optuna_hdbo.benchmarks.problems.instances import Build
from optuna_hdbo.benchmarks.problems.instances import Problem
from optuna_hdbo.benchmarks.problems.instances import generator
from optuna_hdbo.benchmarks.problems.instances import imported


Simulator = Callable[[FloatArray], float]

LEAST_ENERGY = {6: -12.712062, 8: -19.821489}
"""Of Lennard-Jones clusters (Wales & Doye 1997)."""

LEAST_REPULSION = {8: 19.675287861, 12: 49.165253058}
"""Of charges on a sphere (Wales & Ulker 2006)."""

WIDEST_PACKING = (6.0**0.5 - 2.0**0.5) / 2.0
"""Largest least distance of eight points in a square (Schaer & Meir 1965)."""


def _integrated(
    slope: Callable[[FloatArray], FloatArray], start: FloatArray, step: float, n_steps: int
) -> FloatArray:
    """Return the states (n_steps + 1, k) of a system by Runge's and Kutta's classic method."""
    states = [start]
    for _ in range(n_steps):
        y = states[-1]
        a = slope(y)
        b = slope(y + 0.5 * step * a)
        c = slope(y + 0.5 * step * b)
        d = slope(y + step * c)
        states.append(np.clip(y + step / 6.0 * (a + 2.0 * b + 2.0 * c + d), -1e3, 1e3))
    return np.array(states)


def _distances(points: FloatArray) -> FloatArray:
    """Return the distances of all pairs of points (n, k)."""
    gaps = points[:, None] - points
    distances: FloatArray = np.sqrt((gaps**2).sum(axis=2)[np.triu_indices(len(points), 1)])
    return distances


def _wave(rng: np.random.Generator) -> Simulator:
    t = np.arange(101) * 2.0 * np.pi / 100.0

    def wave(p: FloatArray) -> FloatArray:
        inner = p[2] * np.sin(p[3] * t + p[4] * np.sin(p[5] * t))
        return np.asarray(p[0] * np.sin(p[1] * t + inner))

    target = wave(rng.uniform([0.5, 2.0, -2.0, 2.0, -2.0, 2.0], [1.5, 6.0, 2.0, 6.0, 2.0, 6.0]))
    return lambda x: float(((wave(-6.4 + 12.75 * x) - target) ** 2).sum())


def _predators(rng: np.random.Generator) -> Simulator:
    def populations(x: FloatArray) -> FloatArray:
        birth, hunt, death, feed, *start = x * [2.0, 1.0, 2.0, 1.0, 3.0, 3.0] + 0.05

        def slope(y: FloatArray) -> FloatArray:
            met = y[0] * y[1]
            return np.array([birth * y[0] - hunt * met, feed * met - death * y[1]])

        return _integrated(slope, np.array(start), 0.1, 100)

    target = populations(rng.uniform(0.3, 0.7, 6))
    return lambda x: float((np.minimum(np.abs(populations(x) - target), 50.0) ** 2).mean())


def _epidemic(rng: np.random.Generator) -> Simulator:
    days = np.arange(80)

    def infected(x: FloatArray) -> FloatArray:
        contacts = np.interp(days, np.linspace(0.0, 79.0, 6), 1.2 * x[:6])
        onset, recovery = 0.3 * (0.05 + x[6]), 0.05 + 0.6 * x[7]
        exposed, ill = 0.05 * x[8:]
        healthy, history = 1.0 - exposed - ill, []
        for rate in contacts:
            new, fallen = rate * healthy * ill, onset * exposed
            healthy, exposed = healthy - new, exposed + new - fallen
            ill += fallen - recovery * ill
            history.append(ill)
        return np.array(history)

    target = infected(rng.uniform(0.25, 0.75, 10))
    return lambda x: 1e3 * float(((infected(x) - target) ** 2).sum())


def _atoms(n: int) -> Simulator:
    def energy(x: FloatArray) -> float:
        # The first atom is at the origin, the second on an axis, the third in a plane.
        places = np.zeros((n, 3))
        places[1, 0] = 2.5 * x[0]
        places[2, :2] = 3.0 * (x[1:3] - 0.5)
        places[3:] = 3.0 * (x[3:].reshape(-1, 3) - 0.5)
        inverse = np.maximum(_distances(places), 0.6) ** -6.0
        return float((inverse**2 - 2.0 * inverse).sum())

    return energy


def _charges(x: FloatArray) -> float:
    height, angle = 1.0 - 2.0 * x[::2], 2.0 * np.pi * x[1::2]
    radius = np.sqrt(1.0 - height**2)
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
    return float((1.0 / np.maximum(_distances(places), 1e-3)).sum())


def _packing(x: FloatArray) -> float:
    return -float(_distances(x.reshape(-1, 2)).min())


def _antenna(rng: np.random.Generator) -> Simulator:
    wanted = rng.uniform(60.0, 120.0)
    degrees = np.linspace(0.0, 180.0, 361)
    beside = np.abs(degrees - wanted) > 12.0
    paths = np.cos(np.radians(degrees)) - np.cos(np.radians(wanted))

    def lobe(x: FloatArray) -> float:
        amplitudes, places = 0.2 + 0.8 * x[:10], np.cumsum(0.3 + 0.7 * x[10:])
        field = np.abs(amplitudes @ np.exp(2j * np.pi * places[:, None] * paths))
        return float(field[beside].max() / field.max())

    return lobe


def _radar(x: FloatArray) -> float:
    phases = np.concatenate([[0.0], np.cumsum(2.0 * np.pi * x)])
    n = len(x)
    sums = []
    for k in range(1, n + 1):
        j = np.arange(k, n + 1)
        sums.append(np.cos(phases[j] - phases[np.abs(2 * k - j - 1)]).sum())
        j = np.arange(k + 1, n + 1)
        sums.append(0.5 + np.cos(phases[j] - phases[np.abs(2 * k - j)]).sum())
    return float(np.abs(sums[:-1]).max())


BARS = ((4, 2), (2, 0), (5, 3), (3, 1), (2, 3), (0, 1), (4, 3), (5, 2), (2, 1), (3, 0))
JOINTS = 360.0 * np.array([[2, 1], [2, 0], [1, 1], [1, 0], [0, 1], [0, 0]], np.float64)
"""Joints of the truss in inches; the last two are fixed."""


def _truss(x: FloatArray) -> float:
    areas = 0.1 + 34.0 * x
    ends = np.array(BARS)
    along = JOINTS[ends[:, 1]] - JOINTS[ends[:, 0]]
    lengths = np.sqrt((along**2).sum(axis=1))
    unit = along / lengths[:, None]
    # Rows say how much longer each bar becomes by displacements of the joints.
    stretch = np.zeros((len(BARS), len(JOINTS), 2))
    rows = np.arange(len(BARS))
    stretch[rows, ends[:, 1]], stretch[rows, ends[:, 0]] = unit, -unit
    stretch = stretch.reshape(len(BARS), -1)[:, :8]
    stiffness = stretch.T @ (1e7 * areas / lengths * stretch.T).T
    load = np.zeros(8)
    load[[3, 7]] = -1e5
    moved = np.linalg.solve(stiffness, load)
    stress = 1e7 * (stretch @ moved) / lengths
    over = np.maximum(np.abs(stress) / 25e3 - 1.0, 0.0).sum()
    over += np.maximum(np.abs(moved) / 2.0 - 1.0, 0.0).sum()
    return float(0.1 * (areas @ lengths) * (1.0 + over) ** 2)


def _windfarm(rng: np.random.Generator) -> Simulator:
    winds = np.radians(rng.uniform(0.0, 360.0) + np.array([0.0, 60.0, 200.0]))

    def lost(x: FloatArray) -> float:
        places = 2000.0 * x.reshape(-1, 2)
        power = 0.0
        for wind, share in zip(winds, (0.5, 0.3, 0.2), strict=True):
            down = places @ [np.cos(wind), np.sin(wind)]
            across = places @ [-np.sin(wind), np.cos(wind)]
            behind = down[:, None] - down
            width = 40.0 + 0.08 * np.maximum(behind, 0.0)
            wake = 0.55 * (40.0 / width) ** 2
            wake *= np.exp(-0.5 * ((across[:, None] - across) / width) ** 2) * (behind > 0.0)
            speed = np.maximum(1.0 - np.sqrt((wake**2).sum(axis=1)), 0.0)
            power += share * float((speed**3).sum())
        close = np.maximum(1.0 - _distances(places) / 200.0, 0.0).sum()
        return float(len(places) - power + close)

    return lost


def _heating(rng: np.random.Generator) -> Simulator:
    ring = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    wanted = 1.0 + 0.5 * np.sin(ring + rng.uniform(0.0, 2.0 * np.pi))
    heated = np.stack([np.abs(np.arange(40) - place) <= 2 for place in (5, 20, 33)])

    def error(x: FloatArray) -> float:
        power = 4.0 * x.reshape(3, 6)
        warmth = np.zeros(40)
        for heat in np.repeat(0.05 * power.T @ heated, 20, axis=0):
            flow = np.roll(warmth, 1) + np.roll(warmth, -1) - 2.0 * warmth
            warmth = warmth + 0.4 * flow + heat - 0.01 * warmth
        return float(np.sqrt(((warmth - wanted) ** 2).mean()) + 0.02 * power.mean())

    return error


def _landing(rng: np.random.Generator) -> Simulator:
    across, drift = rng.uniform(-30.0, 30.0), rng.uniform(-5.0, 5.0)
    step, n_steps = 0.2, 80

    def error(x: FloatArray) -> float:
        thrusts, turns = x.reshape(2, -1)
        place, speed = np.array([across, 100.0]), np.array([drift, -10.0])
        tilt = spin = fuel = 0.0
        for t in range(n_steps):
            k = t * len(thrusts) // n_steps
            spin = 0.9 * (spin + step * 0.6 * (turns[k] - 0.5))
            tilt += step * spin
            push = 25.0 * thrusts[k] * np.array([-np.sin(tilt), np.cos(tilt)])
            speed = speed + step * (push - [0.0, 9.8])
            place = place + step * speed
            fuel += step * thrusts[k]
            if place[1] <= 0.0:
                break
        missed = 0.3 * abs(place[0]) + 0.5 * max(place[1], 0.0) + np.abs(speed).sum()
        return float(missed + 20.0 * abs(tilt) + 0.3 * fuel)

    return error


def _pole(x: FloatArray) -> float:
    weights = 6.0 * (x - 0.5)
    hidden, output = weights[:20].reshape(4, 5), weights[20:]
    place = speed = turning = cost = 0.0
    angle, step, n_steps = np.pi, 0.03, 150
    for t in range(n_steps):
        seen = np.array([place, speed, np.cos(angle), np.sin(angle), turning])
        force = 10.0 * np.tanh(output @ np.tanh(hidden @ seen))
        pulled = (force + 0.05 * turning**2 * np.sin(angle)) / 1.1
        lever = 0.5 * (4.0 / 3.0 - 0.1 * np.cos(angle) ** 2 / 1.1)
        faster = (9.8 * np.sin(angle) - np.cos(angle) * pulled) / lever
        pushed = pulled - 0.05 * faster * np.cos(angle) / 1.1
        place, speed = place + step * speed, speed + step * pushed
        angle, turning = angle + step * turning, turning + step * faster
        cost += 1.0 - np.cos(angle) + 0.05 * place**2
        if abs(place) > 4.0:  # the end of the track
            cost += 2.2 * (n_steps - t)
            break
    return float(cost / n_steps)


@functools.cache
def _scaled(data: str) -> FloatArray:
    X = getattr(imported("sklearn.datasets", data, "scikit-learn"), f"load_{data}")().data
    scaled: FloatArray = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return scaled


def _clusters(data: str) -> Simulator:
    def inertia(x: FloatArray) -> float:
        X = _scaled(data)
        gaps = X[:, None] - x.reshape(3, -1)
        return float((gaps**2).sum(axis=2).min(axis=1).sum())

    return inertia


def _built(
    dim: int, made: Callable[[np.random.Generator], Simulator], least: float = 0.0
) -> Build:
    def build(name: str, seed: int) -> Problem:
        bounds = np.tile([0.0, 1.0], (dim, 1))
        evaluate = made(generator(name, seed))
        return Problem(name, seed, "minimize", bounds, evaluate, optimum=least, argopt=None)

    return build


FAMILY: dict[str, Build] = {
    "wave-6": _built(6, _wave),
    "predators-6": _built(6, _predators),
    "epidemic-10": _built(10, _epidemic),
    "atoms-12": _built(12, lambda rng: _atoms(6), LEAST_ENERGY[6]),
    "atoms-18": _built(18, lambda rng: _atoms(8), LEAST_ENERGY[8]),
    "charges-16": _built(16, lambda rng: _charges, LEAST_REPULSION[8]),
    "charges-24": _built(24, lambda rng: _charges, LEAST_REPULSION[12]),
    "packing-16": _built(16, lambda rng: _packing, -WIDEST_PACKING),
    "antenna-20": _built(20, _antenna),
    "radar-16": _built(16, lambda rng: _radar),
    "truss-10": _built(10, lambda rng: _truss),
    "windfarm-24": _built(24, _windfarm),
    "heating-18": _built(18, _heating),
    "landing-10": _built(10, _landing),
    "landing-20": _built(20, _landing),
    "pole-24": _built(24, lambda rng: _pole),
    "irises-12": _built(12, lambda rng: _clusters("iris")),
    "wines-39": _built(39, lambda rng: _clusters("wine")),
}
"""The problems, all of them reported."""
