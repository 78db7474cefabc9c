"""The samplers of the package, as it exports them: a new one is tested without another list."""

from __future__ import annotations

from collections.abc import Callable

from histories import THOROUGH

import optuna_hdbo
from optuna_hdbo import baselines
from optuna_hdbo.samplers.base import MethodSampler


Create = Callable[..., MethodSampler]

SAMPLERS: dict[str, Create] = {
    name: getattr(optuna_hdbo, name) for name in optuna_hdbo.__all__ if name.endswith("Sampler")
}
PUBLISHED: dict[str, Create] = {
    f"{name}, published": sampler.as_published  # type: ignore[attr-defined]
    for name, sampler in SAMPLERS.items()
    if hasattr(sampler, "as_published")  # a portfolio has no paper
}
BASELINES: dict[str, Create] = {
    name: getattr(baselines, name) for name in baselines.__all__ if name.endswith("Sampler")
}
"""The samplers that others are compared with. They have a shorter contract of their own."""

PUBLISHED_BASELINES: dict[str, Create] = {
    f"{name}, published": sampler.as_published  # type: ignore[attr-defined]
    for name, sampler in BASELINES.items()
    if hasattr(sampler, "as_published")
}
EVERY = {**SAMPLERS, **PUBLISHED} if THOROUGH else SAMPLERS
"""Samplers of the tests of whole studies. tests/methods has the methods' published settings."""

ACROSS_PROCESSES = list(SAMPLERS) if THOROUGH else ["AddGPUCBSampler", "BaMSOOSampler"]
"""Samplers that tests of processes and storages use: one with a model, and one with a tree.

What happens between processes is the business of the base that all samplers share.
"""
