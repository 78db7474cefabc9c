"""Attributes that are computed when they are first read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801, it stands for Python's
        """Python's ``cached_property`` without its lock, which 3.12 has done away with.

        That lock is shared by all objects of a class. A process that is forked while another
        thread holds it would wait for ever.
        """

        def __init__(self, function: Any) -> None:
            self._function = function
            self._name = function.__name__
            self.__doc__ = function.__doc__

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            # Values are kept where Python looks for attributes before it comes here.
            value = instance.__dict__[self._name] = self._function(instance)
            return value
