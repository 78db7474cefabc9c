"""VS-BO with known important columns (Algorithm 6, VS-GP-UCB): bounds over them alone."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from histories import CONDITIONAL
from histories import Ledger
from histories import affordable
from histories import is_admissible
from histories import make_domain
from histories import published
from reference import radial

from optuna_hdbo import VSBOSampler
from optuna_hdbo._core.domain import Domain
from optuna_hdbo._core.streams import Streams
from optuna_hdbo.methods import vs_bo
from optuna_hdbo.methods.vs_bo import OF_SELECTIONS
from optuna_hdbo.methods.vs_bo import VSBO


def waves(x: np.ndarray) -> float:
    """Two columns matter, the others hardly."""
    return float(np.sin(7.0 * x[1]) + np.cos(5.0 * x[3] * x[1]) + 0.01 * x[0])


def bounds(
    Z: np.ndarray, X: np.ndarray, values: np.ndarray, fit: dict[str, Any], n_columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bounds, means and deviations of Algorithm 6 at points Z (m, d) of d columns.

    Means and deviations are in units of the standardised values.
    """
    y = (values - values.mean()) / values.std()
    (scale,), noise = fit["scales"], fit["noise"]

    def covariance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        difference = (A[:, None] - B[None]) / np.array(fit["lengthscales"])
        return scale * radial(2, (difference**2).sum(axis=2))

    inverse = np.linalg.inv(covariance(X, X) + noise * np.eye(len(X)))
    K = covariance(Z, X)
    mean = K @ inverse @ y
    std = np.sqrt(scale - np.einsum("ij,jk,ik->i", K, inverse, K))
    t, d, delta = len(y), Z.shape[1], 0.1
    beta = 2 * math.log(t**2 * math.pi**2 / (2 * delta)) + 2 * d * math.log(n_columns * t**3)
    return mean + math.sqrt(beta) * std, mean, std


def test_queries_are_those_of_algorithm_6() -> None:
    ledger = Ledger.started(Domain.continuous(4), affordable(20, 10), waves)
    method = VSBO(important=["x3", "x1"], n_cyc=1)
    side = np.linspace(0.0, 1.0, 51)
    grid = np.array(list(itertools.product(side, side)))
    for _ in range(affordable(10, 2)):
        X, values = np.array(ledger.X)[:, [1, 3]], np.array(ledger.values)
        (suggestion,) = ledger.run(method, 1)
        assert suggestion.record is not None
        fit = suggestion.record["important"]
        assert fit["groups"] == [["x1", "x3"]]
        own, mean, std = bounds(suggestion.x[None, [1, 3]], X, values, fit, 4)
        assert own[0] > bounds(grid, X, values, fit, 4)[0].max() - 1e-6
        predicted = mean[0] * values.std() + values.mean()
        assert suggestion.report["predicted"] == pytest.approx(predicted, rel=1e-6)
        assert suggestion.report["std"] == pytest.approx(std[0] * values.std(), rel=1e-4)
        assert suggestion.x[[0, 2]].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "settings", [{}, published(VSBO, important=["x0"])], ids=["default", "published"]
)
def test_the_others_never_move(settings: dict[str, Any]) -> None:
    domain = make_domain(None, 6, "5", None)
    ledger = Ledger.started(domain, 4)
    kept = {name: value for name, value in settings.items() if name not in OF_SELECTIONS}
    ledger.run(VSBO(**{**kept, "important": ["x0"]}), affordable(8, 2))
    centre = domain.from_unit(np.full((1, 4), 0.5))[0, 1:].tolist()
    assert all(x[1:].tolist() == centre for x in ledger.X[4:])
    assert len({x[0] for x in ledger.X[4:]}) == len(ledger.X) - 4


def test_all_values_of_the_important_columns_are_asked() -> None:
    """The others stay at the centre even then."""
    ledger = Ledger.started(make_domain(3, 2, "3"), 6, lambda x: float(x[0] - x[1] + x[2]))

    def asked() -> int:
        return len({x.tobytes() for x in ledger.X if x[2] == 1.0})

    assert 0 < asked() < 4
    ledger.run(VSBO(important=["x0", "x1"]), 6 - asked())
    assert asked() == 6
    (again,) = ledger.run(VSBO(important=["x0", "x1"]), 1)
    assert again.x[2] == 1.0


def test_points_elsewhere_in_the_others_do_not_count_as_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handed = []

    def maximise(
        acquisition: Any, domain: Any, best: Any, known: np.ndarray, *_: Any, **__: Any
    ) -> np.ndarray:
        handed.append(known.tolist())
        return np.array([0.9])

    monkeypatch.setattr(vs_bo, "maximise", maximise)
    ledger = Ledger(Domain.continuous(3))
    for x in ([0.2, 0.5, 0.5], [0.7, 0.1, 0.5], [0.5, 0.5, 0.9]):
        ledger.observe(np.array(x))
    seen = ledger.seen(pending=[np.array([0.4, 0.5, 0.5]), np.array([0.6, 0.5, 0.0])])
    x = VSBO(important=["x0"]).suggest(ledger.domain, seen, Streams(0)).x
    assert handed == [[[0.2], [0.4]]]
    assert x.tolist() == [0.9, 0.5, 0.5]


def test_constraints_bound_the_search() -> None:
    """Values grow towards 0, where the constraint forbids points."""
    ledger = Ledger.started(Domain.continuous(3), 16, lambda x: -float(x[1]))
    method, seen = VSBO(important=["x1"]), ledger.seen()
    assert method.suggest(ledger.domain, seen, Streams(0)).x[1] < 0.1
    seen = replace(seen, constraints=0.5 - seen.X[:, 1:2])
    x = method.suggest(ledger.domain, seen, Streams(0)).x
    assert 0.4 < x[1] < 0.6
    assert x[[0, 2]].tolist() == [0.5, 0.5]


def test_columns_that_decide_about_important_ones_are_searched_too() -> None:
    ledger = Ledger.started(CONDITIONAL, 8, lambda x: float(x[0] == 1) + float(x[4]))
    x = VSBO(important=["x4"]).suggest(CONDITIONAL, ledger.seen(), Streams(0)).x
    assert is_admissible(CONDITIONAL, x)
    columns = VSBO(important=["x4"])._important_columns(CONDITIONAL)
    assert columns.tolist() == [0, 3, 4]


def test_columns_that_this_domain_lacks_are_left_out() -> None:
    ledger = Ledger.started(Domain.continuous(3), 5)
    (suggestion,) = ledger.run(VSBO(important=["gone", "x2"]), 1)
    assert suggestion.x[:2].tolist() == [0.5, 0.5]
    (suggestion,) = ledger.run(VSBO(important=["gone"]), 1)
    assert 0.5 not in suggestion.x


@pytest.mark.parametrize(
    ("important", "message"),
    [
        ([], "must have at least one parameter name, but got \\[\\]. Add one"),
        ("lr", "must be a list of parameter names, .* but got 'lr'"),
        (["lr", 2], "must be a list of parameter names, .* but got \\['lr', 2\\]"),
        (5, "must be a list of parameter names, .* but got 5"),
        (
            ["lr", "l2", "lr"],
            "must have every parameter name once, but got \\['lr'\\] .* Leave out",
        ),
    ],
)
def test_wrong_names_are_refused(important: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^important {message}"):
        VSBOSampler(important=important)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_vs", 5),
        ("criterion", "forward"),
        ("gain", 3.0),
        ("n_is", 10),
        ("unimportant", "mix"),
        ("n_draws", 1),
        ("whole_every", 0),
        ("additive", False),
    ],
)
def test_settings_of_selections_are_refused(name: str, value: Any) -> None:
    for build in (VSBOSampler, VSBOSampler.as_published):
        with pytest.raises(
            ValueError, match=f"^{name} must be .* got {value!r}.* Leave {name} out"
        ):
            build(important=["x"], **{name: value})
    VSBOSampler(**{name: value})


def three_parameters(trial: optuna.Trial) -> float:
    x, k = trial.suggest_float("x", 1e-4, 1.0, log=True), trial.suggest_int("k", 1, 9)
    return (math.log10(x) + 2.0) ** 2 + (k - 4) ** 2 + trial.suggest_float("z", -1.0, 3.0)


def test_unknown_names_are_refused_as_soon_as_that_shows() -> None:
    study = optuna.create_study(sampler=VSBOSampler(important=["x", "y"]))
    with pytest.raises(ValueError, match=r"^important must name .* got \['y'\].*\['x', 'z'\]"):
        study.optimize(
            lambda trial: trial.suggest_float("x", 0.0, 1.0) + trial.suggest_float("z", 0.0, 1.0),
            n_trials=5,
        )
    assert len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))) == 1


@pytest.mark.parametrize("build", [VSBOSampler, VSBOSampler.as_published])
def test_a_study_goes_on_where_it_stopped(build: Any) -> None:
    def sampler() -> VSBOSampler:
        return build(important=["k", "x"], seed=3, n_startup_trials=3)  # type: ignore[no-any-return]

    whole = optuna.create_study(sampler=sampler())
    whole.optimize(three_parameters, n_trials=affordable(9, 5))
    resumed = optuna.create_study(sampler=sampler())
    resumed.add_trials(whole.trials[:-2])
    resumed.optimize(three_parameters, n_trials=2)
    assert [t.params for t in resumed.trials] == [t.params for t in whole.trials]
    assert {t.params["z"] for t in whole.trials[3:]} == {1.0}
