"""Samplers that can be built with the settings of their method's paper."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import ClassVar
from typing import Protocol

from optuna_hdbo.samplers.base import MethodSampler


if TYPE_CHECKING:
    from typing import Self


class PublishedMethod(Protocol):
    """A method with the settings of its paper."""

    published: ClassVar[Mapping[str, Any]]


class PublishedSampler(MethodSampler):
    """Base of the samplers whose method has a paper."""

    @staticmethod
    @abstractmethod
    def _method_class() -> type[PublishedMethod]:
        """Import the method and its compiled code, which the package does not do by itself."""

    @classmethod
    def as_published(cls, **overrides: Any) -> Self:
        """Return the sampler with the settings of its method's paper.

        They are described with the method, and in the table of the method's page.

        Parameters
        ----------
        **overrides
            Settings that take the place of the paper's.
        """
        return cls(**{**cls._method_class().published, **overrides})
