"""GP-MI against the paper: phi, the generic scheme, the floor, and groups of their own."""

from __future__ import annotations

import inspect
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference_mi
from histories import DOMAINS
from histories import INTERPRETED
from histories import Ledger
from histories import affordable
from histories import make_domain
from histories import make_kernel
from histories import make_posterior
from histories import some

from optuna_hdbo._core.acquisition.analytic import Analytic
from optuna_hdbo._core.acquisition.confidence import gained
from optuna_hdbo._core.checks import UnknownNamesError
from optuna_hdbo._core.gp.fitted import Fitted
from optuna_hdbo._core.memory import Memory
from optuna_hdbo._core.models.ensemble import ALL_MATTER
from optuna_hdbo._core.observations import Observations
from optuna_hdbo.methods import gp_mi
from optuna_hdbo.methods.base import Streams
from optuna_hdbo.methods.gp_mi import GPMI
from optuna_hdbo.methods.gp_mi import LEAST_NOISE


def peak(x: np.ndarray) -> float:
    return float(np.exp(-20 * ((x - 0.7) ** 2).sum()))


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.1])
@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_phi(delta: float, scale: float) -> None:
    domain = DOMAINS["mixed"]
    kernel = make_kernel(domain)
    kernel.scales[:] = scale
    posterior, X, y = make_posterior(domain, kernel, 8)
    root_alpha = math.sqrt(math.log(2.0 / delta))
    gamma = reference_mi.gamma(kernel, X)
    acquisition = Analytic.mi(posterior, root_alpha, gained(posterior))
    Z = domain.sample(np.random.default_rng(1), 5)
    for x, value in zip(Z, acquisition(Z), strict=True):
        mean, variance = reference_mi.posterior(kernel, X, y, x)
        phi = math.sqrt(scale) * reference_mi.phi(root_alpha, variance / scale, gamma)
        assert value == pytest.approx(mean + phi, abs=1e-7)


def test_phi_of_corollary_1_and_the_floor() -> None:
    domain = DOMAINS["continuous"]
    kernel = make_kernel(domain)
    kernel.scales[:] = 4.0
    posterior, _, _ = make_posterior(domain, kernel, 6)
    Z = domain.sample(np.random.default_rng(1), 20)
    mean, variance = posterior.predict(Z)
    scaled = Analytic.scaled_variance(posterior, 1.5)(Z)
    np.testing.assert_allclose(scaled, mean + 2.0 * 1.5 * variance / 4.0, rtol=1e-12)
    gamma = gained(posterior)
    plain = Analytic.mi(posterior, 0.5, gamma)(Z)
    floored = Analytic.mi(posterior, 0.5, gamma, 0.1)(Z)
    np.testing.assert_allclose(
        floored, np.maximum(plain, mean + 0.1 * np.sqrt(variance)), rtol=1e-12
    )
    assert np.any(floored > plain + 1e-6)


@pytest.mark.parametrize("floor", [0.0, 0.2, 2.0])
def test_gradients(floor: float) -> None:
    domain = make_domain(None, None)
    kernel = make_kernel(domain)
    posterior, _, _ = make_posterior(domain, kernel, 7)
    acquisition = Analytic.mi(posterior, 2.0, gained(posterior), floor)
    starts = domain.sample(np.random.default_rng(2), 6)
    climbed, heights = acquisition.ascend(starts, np.ones(2, np.bool_), 100)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, affordable(201, 21))] * 2), -1).reshape(-1, 2)
    assert np.all(heights >= acquisition(starts) - 1e-12)
    assert heights.max() >= acquisition(grid).max() - 1e-3
    np.testing.assert_allclose(acquisition(climbed), heights, rtol=1e-9)


def transcription(
    fitted: Fitted, X: np.ndarray, y: np.ndarray, grid: np.ndarray, delta: float
) -> np.ndarray:
    """Algorithm 1 on a grid: the values of mu + phi."""
    kernel = fitted.kernel
    signal = kernel.variance
    gamma = reference_mi.gamma(kernel, X)
    values = []
    for x in grid:
        mean, variance = reference_mi.posterior(kernel, X, y, x)
        phi = reference_mi.phi(math.sqrt(math.log(2.0 / delta)), variance / signal, gamma)
        values.append(mean + math.sqrt(signal) * phi)
    return np.array(values)


@pytest.mark.parametrize("settings", [{}, {"kernel": "se", "ard": False, "noise": 0.01}])
def test_what_is_asked_maximises_the_transcription(settings: dict[str, Any]) -> None:
    ledger = Ledger.started(make_domain(None, None), 6, peak)
    method = GPMI(alternate=False, priors=False, n_cyc=100, **settings)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 21)] * 2), -1).reshape(-1, 2)
    for _ in range(affordable(4, 2)):
        seen = ledger.seen()
        suggestion = method.suggest(ledger.domain, seen, Streams(0))
        ledger.keep(suggestion)
        (record,) = (r for r in ledger.records if r.data)
        fitted = Fitted.from_json(record.data["plain:flat"], ledger.domain)
        assert fitted is not None
        ours = transcription(fitted, seen.X, seen.y, suggestion.x[None], 1e-6)[0]
        assert ours >= transcription(fitted, seen.X, seen.y, grid, 1e-6).max() - 1e-3
        expected = reference_mi.gamma(fitted.kernel, seen.X)
        assert suggestion.report["gamma"] == pytest.approx(expected, rel=1e-9)
        ledger.observe(suggestion.x)


def test_exploration_shrinks_and_that_of_gp_ucb_grows() -> None:
    """The width of a query at the same posterior, as a share of its standard deviation."""
    widths = {}
    for exploration in ("mi", "ucb"):
        ratios = []
        for n in (5, 60):
            ledger = Ledger.started(make_domain(None, None), n, peak)
            method = GPMI(exploration=exploration, alternate=False)  # type: ignore[arg-type]
            seen = ledger.seen()
            models, domain = method._models, ledger.domain
            posterior = models.believed(domain, seen, ALL_MATTER, Memory()).posterior
            acquisition = method._instance(posterior, seen, ledger.domain)
            corner = np.array([[1.0, 0.0]])
            mean, variance = posterior.predict(corner)
            ratios.append(float((acquisition(corner) - mean)[0] / math.sqrt(variance[0])))
        widths[exploration] = ratios
    assert widths["mi"][0] > 1.5 * widths["mi"][1]
    assert widths["ucb"][0] < widths["ucb"][1]


def test_every_group_has_its_own_phi() -> None:
    """The point asked is the best of a grid in every group, at the group's own gamma."""
    groups = [["x0"], ["x1"]]
    ledger = Ledger.started(make_domain(None, None), 7, lambda x: math.sin(6 * x[0]) + x[1] ** 2)
    method = GPMI(decomposition=groups, alternate=False)
    seen = ledger.seen()
    suggestion = method.suggest(ledger.domain, seen, Streams(0))
    assert suggestion.record is not None
    fitted = Fitted.from_json(suggestion.record["additive"], ledger.domain)
    assert fitted is not None
    kernel = fitted.kernel
    for j in range(2):
        one = kernel.only(j)
        gamma = reference_mi.gamma(kernel, seen.X, one)

        def value(u: float, j: int = j, gamma: float = gamma) -> float:
            x = suggestion.x.copy()
            x[j] = u
            one = kernel.only(j)
            mean, variance = reference_mi.posterior(kernel, seen.X, seen.y, x, one)
            phi = reference_mi.phi(method.root_alpha, variance / one.variance, gamma)
            return mean + math.sqrt(one.variance) * phi

        assert value(suggestion.x[j]) >= max(value(u) for u in np.linspace(0, 1, 41)) - 1e-3


def admitted(ledger: Ledger, most: float) -> Observations:
    """Only what has a small first column is feasible."""
    seen = ledger.seen()
    return replace(seen, constraints=seen.X[:, :1] - most)


@pytest.mark.parametrize(
    ("exploration", "groups", "alternate"),
    some(
        itertools.product(["mi", "ucb", "variance"], [None, [["x0"], ["x1"]]], [True, False]),
        4,
    ),
)
def test_what_constraints_forbid_is_not_asked(
    exploration: Any, groups: Any, alternate: bool
) -> None:
    """The best point has 0.7, and more than 0.4 is forbidden."""

    def hill(x: np.ndarray) -> float:
        return float(np.exp(-5.0 * ((x - 0.7) ** 2).sum()))

    method = GPMI(exploration=exploration, beta=0.25, decomposition=groups, alternate=alternate)
    ledger = Ledger.started(make_domain(None, None), 15, hill)
    for _ in range(affordable(8, 2)):
        suggestion = method.suggest(ledger.domain, admitted(ledger, 0.4), Streams(0))
        assert "constraint0:inverse-square" in (suggestion.record or {}) or len(ledger.X) > 15
        ledger.keep(suggestion)
        ledger.observe(suggestion.x)
    asked = np.array(ledger.X[15:])
    assert np.all(asked[:, 0] <= affordable(45, 60) / 100)
    if not INTERPRETED:
        # Optimistic bounds come to the border from outside, improvements from inside.
        most = 0.4 if alternate else 0.41
        allowed = [v for x, v in zip(ledger.X, ledger.values, strict=True) if x[0] <= most]
        assert max(allowed) > 0.95 * hill(np.array([0.4, 0.7]))


def test_a_constraint_that_holds_everywhere_changes_nothing() -> None:
    ledger = Ledger.started(make_domain(None, None), 10, peak)
    seen = ledger.seen()
    loose = replace(seen, constraints=np.full((10, 1), -1e9))
    for step in (10, 11):  # an improvement, and a bound
        plain, free = (
            GPMI().suggest(ledger.domain, replace(s, step=step), Streams(0)) for s in (seen, loose)
        )
        np.testing.assert_array_equal(plain.x, free.x)
        assert free.record == plain.record


@pytest.mark.parametrize("exploration", ["mi", "ucb", "variance"])
def test_the_optimum_of_a_smooth_function_is_found(exploration: Any) -> None:
    ledger = Ledger.started(make_domain(None, None), 6, peak)
    goal = affordable(990, 0) / 1000
    ledger.run(GPMI(exploration=exploration), affordable(24, 6), goal=goal)
    assert max(ledger.values) > goal


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta", 0.0),
        ("delta", 1.0),
        ("delta", 1),
        ("delta", -1e-6),
        ("delta", math.nan),
        ("delta", "small"),
        ("delta", True),
        ("delta", 10**400),
        ("min_exploration", -0.1),
        ("min_exploration", math.inf),
        ("exploration", "ei"),
        ("noise", 0.0),
        ("noise", 1.5),
        ("beta", -1.0),
        ("kernel", "rbf"),
        ("n_cyc", 0),
        ("max_group_size", 0),
        ("n_decompositions", -1),
        ("ungrouped", "drop"),
        ("decomposition_search", "greedy"),
    ],
)
def test_wrong_settings_are_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be .* but got "):
        GPMI(**{name: value})


def test_the_failure_probability_is_that_of_the_theorem_of_gp_ucb_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Section 5.1 has the same delta for both algorithms."""
    deltas: list[float] = []
    known = gp_mi.root_beta

    def recording(*args: Any, **settings: Any) -> float:
        deltas.append(inspect.signature(known).bind(*args, **settings).arguments["delta"])
        return known(*args, **settings)

    monkeypatch.setattr(gp_mi, "root_beta", recording)
    ledger = Ledger.started(make_domain(None, None), 5, peak)
    method = GPMI(exploration="ucb", beta="theory", delta=1e-6, alternate=False)
    method.suggest(ledger.domain, ledger.seen(), Streams(0))
    assert deltas
    assert set(deltas) == {1e-6}


@pytest.mark.parametrize("delta", [1e-320, 0.999])
def test_extreme_deltas_are_legal(delta: float) -> None:
    ledger = Ledger.started(make_domain(None, None), 5, peak)
    suggestion = GPMI(delta=delta, alternate=False).suggest(
        ledger.domain, ledger.seen(), Streams(0)
    )
    assert np.all((suggestion.x >= 0.0) & (suggestion.x <= 1.0))


@pytest.mark.parametrize("kind", ["se", "matern3"])
def test_known_hyperparameters_are_used_and_nothing_is_fitted(kind: str) -> None:
    domain = make_domain(None, None)
    ledger = Ledger.started(domain, 6, peak)
    seen = ledger.seen()
    params = {"lengthscale": {"x0": 0.3, "x1": 0.6}, "scale": 1.5, "noise": 1e-3}
    method = GPMI(alternate=False, kernel=kind, kernel_params=params)
    suggestion = method.suggest(domain, seen, Streams(0))
    assert not suggestion.record
    kernel = make_kernel(domain, kind=kind)
    kernel = replace(kernel, lengthscales=np.array([0.3, 0.6]), scales=np.array([1.5]), noise=1e-3)
    gamma = reference_mi.gamma(kernel, seen.X)

    def value(x: np.ndarray) -> float:
        mean, variance = reference_mi.posterior(kernel, seen.X, seen.y, x)
        root_alpha = math.sqrt(math.log(2e6))
        return mean + math.sqrt(1.5) * reference_mi.phi(root_alpha, variance / 1.5, gamma)

    others = np.random.default_rng(0).random((60, 2))
    assert value(suggestion.x) >= max(value(x) for x in others) - 1e-9
    predicted, _ = reference_mi.posterior(kernel, seen.X, seen.y, suggestion.x)
    assert suggestion.report["predicted"] == pytest.approx(seen.in_units(predicted), abs=1e-8)


def test_known_hyperparameters_must_fit_the_parameters_and_the_model() -> None:
    with pytest.raises(ValueError, match="kernel_params must be a mapping with"):
        GPMI(kernel_params={"scale": 1.0})
    with pytest.raises(ValueError, match="kernel_params must be None for a model with groups"):
        GPMI(kernel_params={"lengthscale": 0.3}, max_group_size=2)
    method = GPMI(kernel_params={"lengthscale": {"x0": 0.3}})
    with pytest.raises(ValueError, match="must name every parameter of the study"):
        method.validate(make_domain(None, None))
    with pytest.raises(ValueError, match=r"^kernel must be one of .* without kernel_params"):
        GPMI(kernel="matern3")


@pytest.mark.parametrize("noise", [1e-8, 1e-200])
def test_hardly_any_noise_is_as_little_as_is_safe(noise: float) -> None:
    domain = make_domain(None, None)
    suggestion = GPMI(noise=noise).suggest(domain, Ledger.started(domain, 8).seen(), Streams(0))
    safe = GPMI(noise=LEAST_NOISE).suggest(domain, Ledger.started(domain, 8).seen(), Streams(0))
    assert suggestion.x.tolist() == safe.x.tolist()


def test_lengthscales_may_name_parameters_of_branches_to_come() -> None:
    named = {"x0": 0.3, "x1": 0.3, "later": 0.3}
    method = GPMI(kernel_params={"lengthscale": named})
    with pytest.raises(UnknownNamesError, match="later"):
        method.validate(make_domain(None, None))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_points_that_are_asked_together_are_apart(seed: int) -> None:
    """Pending points lower the variance only, which hardly counts once much is known."""
    ledger = Ledger.started(make_domain(None, None), 12, peak, seed)
    method, streams = GPMI(), Streams(seed)
    for batch in range(4):
        points: list[np.ndarray] = []
        for i in range(6):
            seen = ledger.seen(pending=points, step=12 + 6 * batch + i)
            points.append(method.suggest(ledger.domain, seen, streams).x)
        asked, known = np.array(points), np.array(ledger.X)
        reach = np.abs(asked[:, None] - known).max(axis=2).min(axis=1)
        for i, x in enumerate(points[1:], 1):
            assert (np.abs(asked[:i] - x).max(axis=1) > 1e-3 * reach[:i]).all()
        for x in points:
            ledger.observe(x)
