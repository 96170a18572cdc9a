"""Check of the output container of transformers, before anything is charged."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sklearn.utils._set_output import _get_output_config

__all__ = ["check_output_container"]


def check_output_container(transformer: Any) -> None:
    """Raise an ImportError if a transformer shall return frames of a library that is missing.

    Parameters
    ----------
    transformer : object
        Any object; those without `transform` are ignored.
    """
    if not hasattr(transformer, "transform"):
        return
    library = _get_output_config("transform", transformer)["dense"]
    if library == "default":
        return
    try:
        import_module(library)
    except ImportError as error:
        raise ImportError(f"set_output(transform={library!r}): {library} is not installed; "
                          "install it, or leave transform='default', also in "
                          "sklearn.set_config(transform_output=...).") from error
