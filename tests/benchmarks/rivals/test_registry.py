from __future__ import annotations

import importlib.util
from typing import Any

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.samplers import RandomSampler

from optuna_hdbo.benchmarks.problems import catalogue
from optuna_hdbo.benchmarks.rivals import registry
from optuna_hdbo.benchmarks.rivals.registry import Rival


class Recorder(RandomSampler):
    """Stands for a sampler of this package: remembers how it was built."""

    def __init__(self, *, seed: int, **settings: Any) -> None:
        super().__init__(seed=seed)
        self.settings = settings
        self.seed = seed
        self.published = False

    @classmethod
    def as_published(cls, **overrides: Any) -> Recorder:
        sampler = cls(**overrides)
        sampler.published = True
        return sampler


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "own_samplers", lambda: {"ASampler": Recorder})


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("gp", Rival("gp", "gp")),
        ("ASampler", Rival("ASampler", "ASampler")),
        ("ASampler:published", Rival("ASampler:published", "ASampler", published=True)),
        (
            "ASampler:n=3,x=1e-3,s=swap,f=True,n2=None",
            Rival(
                "ASampler:n=3,x=1e-3,s=swap,f=True,n2=None",
                "ASampler",
                settings={"n": 3, "x": 1e-3, "s": "swap", "f": True, "n2": None},
            ),
        ),
        (
            "ASampler:published,g=[['x0','x1'],['x2']]",
            Rival(
                "ASampler:published,g=[['x0','x1'],['x2']]",
                "ASampler",
                published=True,
                settings={"g": [["x0", "x1"], ["x2"]]},
            ),
        ),
    ],
)
def test_parse(label: str, expected: Rival) -> None:
    assert registry.parse(label) == expected


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("gp,tpe", ["gp", "tpe"]),
        (" gp , tpe ", ["gp", "tpe"]),
        ("ASampler:n=3,m=4,gp", ["ASampler:n=3,m=4", "gp"]),
        ("ASampler:n=3,published,BSampler:published,n=2", None),
        ("ASampler:g=[['a','b'],['c']],gp", ["ASampler:g=[['a','b'],['c']]", "gp"]),
        ("ASampler:s='a,b:c',gp", ["ASampler:s='a,b:c'", "gp"]),
    ],
)
def test_split_keeps_settings_with_their_sampler(text: str, labels: list[str] | None) -> None:
    expected = labels or ["ASampler:n=3,published", "BSampler:published,n=2"]
    assert registry.split(text) == expected


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("ASampler:publish", "a setting must be 'published' or 'keyword=value'"),
        ("ASampler:=3", "a setting must be"),
        ("gp:n=3", r"gp takes no settings, but got gp:n=3\."),
    ],
)
def test_malformed_labels(label: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        registry.parse(label)


def test_build_passes_settings_and_seed() -> None:
    problem = catalogue.make("levy-20", 3)
    sampler = registry.parse("ASampler:n=3").build(problem, 3)
    assert isinstance(sampler, Recorder)
    assert (sampler.seed, sampler.settings, sampler.published) == (3, {"n": 3}, False)
    sampler = registry.parse("ASampler:published,n=4").build(problem, 5)
    assert isinstance(sampler, Recorder)
    assert (sampler.seed, sampler.settings, sampler.published) == (5, {"n": 4}, True)


def test_known_decomposition_is_the_problems_own() -> None:
    problem = catalogue.make("trimodal-10-3-3", 0)
    rival = registry.parse("ASampler:decomposition=known,ungrouped=single")
    sampler = rival.build(problem, 0)
    assert isinstance(sampler, Recorder)
    assert problem.groups is not None
    groups = [list(group) for group in problem.groups]
    assert sampler.settings == {"decomposition": groups, "ungrouped": "single"}
    with pytest.raises(ValueError, match=r"needs a problem with groups, but got levy-20\."):
        rival.build(catalogue.make("levy-20", 0), 0)


def test_unknown_rival() -> None:
    with pytest.raises(ValueError, match=r"rival must be one of random, .*ASampler, but got no\."):
        registry.parse("no").build(catalogue.make("levy-20", 0), 0)


def test_a_keyword_that_the_sampler_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "own_samplers", lambda: {"RSampler": RandomSampler})
    with pytest.raises(ValueError, match=r"RSampler:n=3 cannot be built: .*'n'"):
        registry.parse("RSampler:n=3").build(catalogue.make("levy-20", 0), 0)


@pytest.mark.parametrize("name", ["random", "tpe", "tpe-default", "cmaes", "gp"])
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_rivals_of_optuna_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: package)  # all are there
    assert isinstance(registry.parse(name).build(catalogue.make("levy-20", 0), 0), BaseSampler)


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("auto", "optunahub"),
        ("botorch", "botorch"),
        ("gp", "torch"),
        ("hebo", "hebo"),
        ("smac", "smac"),
        ("turbo", "optunahub"),
    ],
)
def test_missing_packages_are_named(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=f"needs the {package} package"):
        registry.parse(name).build(catalogue.make("levy-20", 0), 0)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_gp_without_greenlet_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda p: None if p == "greenlet" else p)
    with pytest.warns(UserWarning, match="flatters"):
        registry.parse("gp").build(catalogue.make("levy-20", 0), 0)


@pytest.mark.parametrize("name", ["botorch", "hebo", "smac"])
def test_other_packages_stay_inside_and_repeat(name: str) -> None:
    pytest.importorskip(name)
    problem = catalogue.make("branin-50", 0)
    values = []
    for _ in range(2):
        sampler = registry.parse(name).build(problem, 0)
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda trial: problem.evaluate(problem.suggest(trial)), n_trials=12)
        values.append([trial.value for trial in study.trials])
    assert values[0] == values[1]


@pytest.mark.parametrize("name", ["hebo", "smac"])
def test_they_take_all_kinds_of_parameters(name: str) -> None:
    pytest.importorskip(name)
    study = optuna.create_study(
        sampler=registry.parse(name).build(catalogue.make("levy-20", 0), 0)
    )

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 1e-3, 1.0, log=True)
        n = trial.suggest_int("n", 1, 9)
        assert isinstance(n, int)
        return x + n + (trial.suggest_categorical("c", ["a", None, 3]) is None)

    study.optimize(objective, n_trials=16)
    assert len({repr(trial.params) for trial in study.trials}) == 16
