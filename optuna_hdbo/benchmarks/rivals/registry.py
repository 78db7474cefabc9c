"""Samplers to compare, by name.

``random``, ``tpe-default``, ``tpe``, ``tpe-group``, ``cmaes``, ``nsga2``, ``gp``, ``botorch``,
``smac``, ``hebo``, ``turbo``, ``auto``, and every sampler class of this package. These take
settings after a colon: ``AddGPUCBSampler:published`` is ``AddGPUCBSampler.as_published()``,
``AddGPUCBSampler:max_group_size=3,n_cyc=10`` sets keywords, and both can be combined.
``decomposition=known`` stands for the problem's true groups. ``8*AddGPUCBSampler`` keeps eight
trials under way.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import optuna
from optuna.samplers import BaseSampler

from optuna_hdbo.benchmarks.problems.instances import Problem


N_STARTUP_TRIALS = 10


def _random(seed: int) -> BaseSampler:
    return optuna.samplers.RandomSampler(seed=seed)


def _tpe_default(seed: int) -> BaseSampler:
    return optuna.samplers.TPESampler(seed=seed)


def _tpe(seed: int) -> BaseSampler:
    return optuna.samplers.TPESampler(
        multivariate=True,
        n_startup_trials=N_STARTUP_TRIALS,
        constant_liar=False,
        seed=seed,
    )


def _tpe_group(seed: int) -> BaseSampler:
    return optuna.samplers.TPESampler(multivariate=True, group=True, seed=seed)


def _cmaes(seed: int) -> BaseSampler:
    return optuna.samplers.CmaEsSampler(seed=seed)


def _nsga2(seed: int) -> BaseSampler:
    return optuna.samplers.NSGAIISampler(seed=seed)


def _needed(rival: str, package: str) -> None:
    """Raise an error unless the package of a rival is installed."""
    if importlib.util.find_spec(package) is None:
        raise ValueError(f"the rival {rival} needs the {package} package, which is not installed.")


def _gp(seed: int) -> BaseSampler:
    _needed("gp", "torch")  # the sampler itself would say so after its startup trials
    if importlib.util.find_spec("greenlet") is None:
        warnings.warn(
            "greenlet is not installed, so GPSampler uses a slow fallback. Every comparison of "
            "time with it flatters the other samplers. Install greenlet.",
            stacklevel=2,
        )
    return optuna.samplers.GPSampler(seed=seed, n_startup_trials=N_STARTUP_TRIALS)


def _botorch(seed: int) -> BaseSampler:
    _needed("botorch", "botorch")
    module = importlib.import_module("optuna_hdbo.benchmarks.rivals.botorch_sampler")
    sampler: BaseSampler = module.BoTorchSampler(seed=seed, n_startup_trials=N_STARTUP_TRIALS)
    return sampler


def _smac(seed: int) -> BaseSampler:
    _needed("smac", "smac")
    module = importlib.import_module("optuna_hdbo.benchmarks.rivals.smac_sampler")
    sampler: BaseSampler = module.SMACSampler(seed=seed, n_startup_trials=N_STARTUP_TRIALS)
    return sampler


def _hebo(seed: int) -> BaseSampler:
    _needed("hebo", "hebo")
    module = importlib.import_module("optuna_hdbo.benchmarks.rivals.hebo_sampler")
    sampler: BaseSampler = module.HEBOSampler(seed=seed, n_startup_trials=N_STARTUP_TRIALS)
    return sampler


def _from_hub(rival: str, package: str) -> Any:
    """Return a package of OptunaHub, which is loaded over the network."""
    _needed(rival, "optunahub")
    return importlib.import_module("optunahub").load_module(package)


def _turbo(seed: int) -> BaseSampler:
    module = _from_hub("turbo", "samplers/turbo")
    # Its startup trials are counted per trust region: its own default is the fair number.
    sampler: BaseSampler = module.TuRBOSampler(seed=seed, warn_independent_sampling=False)
    return sampler


def _auto(seed: int) -> BaseSampler:
    sampler: BaseSampler = _from_hub("auto", "samplers/auto_sampler").AutoSampler(seed=seed)
    return sampler


RIVALS: dict[str, Callable[[int], BaseSampler]] = {
    "random": _random,
    "tpe-default": _tpe_default,
    "tpe": _tpe,
    "tpe-group": _tpe_group,
    "cmaes": _cmaes,
    "nsga2": _nsga2,
    "gp": _gp,
    "botorch": _botorch,
    "smac": _smac,
    "hebo": _hebo,
    "turbo": _turbo,
    "auto": _auto,
}


def own_samplers() -> dict[str, type[BaseSampler]]:
    """Return the samplers of this package and its baselines by class name."""
    found: dict[str, type[BaseSampler]] = {}
    for package in map(importlib.import_module, ("optuna_hdbo", "optuna_hdbo.baselines")):
        names = [name for name in getattr(package, "__all__", ()) if name.endswith("Sampler")]
        found |= {name: getattr(package, name) for name in names}
    return found


@dataclass(frozen=True)
class Rival:
    """A sampler's name with its settings, as parsed from the command line.

    Parameters
    ----------
    label : str
        The text from which it was parsed. Results have it as their sampler's name.
    name : str
        A key of :data:`RIVALS` or a sampler class of this package.
    published : bool
        Whether to build it with ``as_published``.
    settings : dict
        Keywords of the constructor.
    n_workers : int
        Trials under way at a time.
    """

    label: str
    name: str
    published: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    n_workers: int = 1

    def build(self, problem: Problem, seed: int) -> BaseSampler:
        """Return the sampler for a problem."""
        if self.name in RIVALS:
            return RIVALS[self.name](seed)
        samplers = own_samplers()
        if self.name not in samplers:
            known = ", ".join([*RIVALS, *samplers])
            raise ValueError(f"rival must be one of {known}, but got {self.name}.")
        settings = dict(self.settings)
        if settings.get("decomposition") == "known":
            if problem.groups is None:
                raise ValueError(
                    f"decomposition=known needs a problem with groups, but got {problem.name}."
                )
            settings["decomposition"] = [list(group) for group in problem.groups]
        cls: Any = samplers[self.name]
        try:
            sampler: BaseSampler = (cls.as_published if self.published else cls)(
                seed=seed, **settings
            )
        except TypeError as error:  # a keyword that the sampler does not have
            raise ValueError(f"{self.label} cannot be built: {error}") from error
        return sampler


def _pieces(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes."""
    pieces, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += char
    return [piece.strip() for piece in pieces if piece.strip()]


def split(text: str) -> list[str]:
    """Split a comma-separated list of rivals whose settings hold commas themselves.

    A piece that is ``published`` or a keyword belongs to the sampler before it.
    """
    labels: list[str] = []
    for piece in _pieces(text):
        is_setting = ":" not in piece.split("=")[0] and ("=" in piece or piece == "published")
        if is_setting and labels:
            labels[-1] += "," + piece
        else:
            labels.append(piece)
    return labels


def parse(label: str) -> Rival:
    """Parse one rival, such as ``8*AddGPUCBSampler:published,n_cyc=10``."""
    many = re.match(r"([1-9]\d*)\*", label)
    n_workers = int(many[1]) if many else 1
    name, _, rest = label[many.end() if many else 0 :].partition(":")
    published, settings = False, {}
    for piece in _pieces(rest):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if key == "published" and not equals:
            published = True
        elif key.isidentifier() and equals:
            settings[key] = _literal(value)
        else:
            raise ValueError(
                f"a setting must be 'published' or 'keyword=value', but got {piece!r} in {label}."
            )
    if rest and name in RIVALS:
        raise ValueError(f"{name} takes no settings, but got {label}.")
    return Rival(label, name, published, settings, n_workers)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
