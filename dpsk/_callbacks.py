"""scikit-learn's callbacks for private fits: they see the progress, never the rows."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING

from dpsk._charging import paying
from dpsk._data.errors import quietly
from dpsk._progress import watching
from dpsk._warnings import apart, whole_fit

if TYPE_CHECKING:
    from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    # scikit-learn has callbacks from 1.9 on.
    CallbackSupportMixin = with_callbacks = None

__all__ = ["TakesCallbacks", "private_fit"]

_HOOKS = ("on_fit_task_begin", "on_fit_task_end")
#: Arguments of hooks that would reveal rows, or a model fitted to them, at every step.
_SENSITIVE = {"X", "y", "metadata", "fitted_estimator"}
#: The most answers of a fit that are reported.
_MOST_TOLD = 100


class _WithoutCallbacks:
    """Stand-in for scikit-learn's mixin in versions that have none."""


# The base class depends on the version of scikit-learn.
class TakesCallbacks(
        CallbackSupportMixin or _WithoutCallbacks):  # type: ignore[misc]
    """Mixin of estimators that report their progress to callbacks."""

    if CallbackSupportMixin is not None:
        def set_callbacks(self, *callbacks: Any) -> Any:
            """Set callbacks, such as `sklearn.callback.ProgressBar()`.

            They are told how many of the planned answers a fit has asked for, never rows, noisy
            iterates or scores, and cannot stop it. Within a private search they are told nothing:
            how many runs it makes is secret, and so are those that lose.

            Parameters
            ----------
            *callbacks : callback instances
                Those that are told; none of them to have none.

            Returns
            -------
            self : object
                The estimator.

            Raises
            ------
            ValueError
                For a callback that asks for rows or for models at each step, such as
                `ScoringMonitor`: what it records has no noise.
            """
            _refuse_sensitive(callbacks)
            return super().set_callbacks(*callbacks)


def private_fit(function):
    """Return a `fit` that reports to callbacks, with NumPy's floating-point errors ignored.

    It leaves a whole model, or the estimator as it was before.
    """
    quiet = quietly(whole_fit(function))
    if CallbackSupportMixin is None:
        return quiet

    @with_callbacks
    def told(self, *args, **kwargs):
        with _telling(self):
            return quiet(self, *args, **kwargs)

    @wraps(function)
    def wrapped(self, *args, **kwargs):
        if not getattr(self, "_skl_callbacks", None):
            return quiet(self, *args, **kwargs)
        return told(self, *args, **kwargs)

    return wrapped


@contextmanager
def _telling(estimator):
    """Report a fit and its answers to the callbacks of an estimator."""
    # A pipeline passes its callbacks on to its last step.
    _refuse_sensitive(estimator._skl_callbacks)
    with _apart():
        root = estimator._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=estimator)
    tellers = []

    def tell_of(name, total):
        tellers.append(_Teller(estimator, root, name, total))
        return tellers[-1]

    with watching(tell_of):
        yield
    for teller in tellers:
        teller.end()
    with _apart():
        root.call_on_fit_task_end(estimator=estimator)


@contextmanager
def _apart():
    """Treat a fit inside a callback as a separate fit, charged and reported on its own."""
    with paying(None), watching(None), apart():
        yield


class _Teller:
    """Count the answers of one plan, and report at most a hundred times."""

    @_apart()
    def __init__(self, estimator, root, name, total):
        self._estimator, self._total = estimator, total
        self._asked, self._told, self._most = 0, 0, min(total, _MOST_TOLD)
        self._context = root.subcontext(task_name=name, max_subtasks=self._most)
        self._context.call_on_fit_task_begin(estimator=estimator)

    @_apart()
    def __call__(self):
        """Count an answer."""
        self._asked += 1
        # Disjoint groups of rows may ask for more answers than planned.
        while self._told < min(self._most, self._most * self._asked // self._total):
            self._told += 1
            answer = self._context.subcontext(task_name="answer")
            answer.call_on_fit_task_begin(estimator=self._estimator)
            answer.call_on_fit_task_end(estimator=self._estimator)

    @_apart()
    def end(self):
        """Report the end; a plan may allow more answers than were asked for."""
        self._context.call_on_fit_task_end(estimator=self._estimator)


def _refuse_sensitive(callbacks):
    """Raise a ValueError for a callback that asks for anything a private fit must hide."""
    for callback in callbacks:
        for hook in _HOOKS:
            asked = {name for name, parameter in inspect.signature(
                getattr(callback, hook, _nothing)).parameters.items()
                if parameter.kind is parameter.KEYWORD_ONLY} & _SENSITIVE
            if asked:
                raise ValueError(
                    f"{type(callback).__name__}: its {hook} asks for {', '.join(sorted(asked))}. "
                    "What it makes of them at each step is a release without noise; use a "
                    "callback that does not, such as ProgressBar, and score on other rows after "
                    "the fit.")


def _nothing():
    """Replace a hook that a callback does not have."""
