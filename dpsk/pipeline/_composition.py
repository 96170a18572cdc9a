"""Base of pipelines, which delegates to the final step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import _BaseComposition, available_if
from sklearn.utils.validation import check_is_fitted

from dpsk._budgeted import Budgeted
from dpsk._callbacks import TakesCallbacks
from dpsk._charging import Carries
from dpsk._delegation import Delegates
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk.pipeline._known import NOTHING, is_private
from dpsk.pipeline._parts import called, every_part
from dpsk.pipeline._rows import behind, settled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._typing import AnyArray, Table

__all__ = ["Composition"]


def _last_has(name):
    """Return a check that the last step has a method."""
    def check(self):
        last = self._inner
        if last not in NOTHING:
            getattr(last, name)
        elif name != "transform":
            raise AttributeError(name)
        return True
    return check


def _goes_back(self):
    """Return whether all steps have an inverse; raise an AttributeError if not."""
    return all(step in NOTHING or step.inverse_transform for _, step in self._known_steps())


def _samples(self):
    """Return whether the last step draws rows; raise an AttributeError unless all map back."""
    *before, (_, last) = self._known_steps()
    for name, step in before:
        if step not in NOTHING and not hasattr(step, "inverse_transform"):
            raise AttributeError(
                f"step {name!r}: {type(step).__name__} has no inverse_transform, so synthetic "
                "rows cannot be mapped back to the table; use steps that have it, such as "
                "DPStandardScaler, or draw mapped rows by pipeline[-1].sample.")
    return bool(last.sample)


def _mapped(step, X, method="transform"):
    """Return rows after a fitted step, with no data in errors of other packages."""
    if step in NOTHING:
        return X
    if hasattr(step, "privacy_"):
        return getattr(step, method)(X)
    return called(step, method, X)


def _mapped_back(steps, X):
    """Return rows mapped back through fitted steps, from the last to the first."""
    for _, step in reversed(steps):
        X = _mapped(step, X, "inverse_transform")
    return X


class Composition(Budgeted, Delegates, TakesCallbacks, Carries, _BaseComposition):
    """Base of estimators made of steps, which delegate to the last one."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; parameters of steps are named ``step__name``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of steps.

        Returns
        -------
        params : dict
            Values by name.
        """
        return self._get_params("steps", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set steps by their names, and parameters of steps as ``step__name``.

        Parameters
        ----------
        **params : dict
            New values by name.

        Returns
        -------
        self : object
            The estimator.
        """
        self._set_params("steps", **params)
        return self

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set what transformers return, as scikit-learn's `Pipeline` does.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            None: unchanged.

        Returns
        -------
        self : object
            The estimator.
        """
        for steps in (self.steps, getattr(self, "steps_", [])):
            for _, step in steps:
                if hasattr(step, "set_output") and hasattr(step, "transform"):
                    step.set_output(transform=transform)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what private steps request of `fit`, such as `sample_weight`.

        Returns
        -------
        routing : MetadataRouter
            For scikit-learn's metadata routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        fits = MethodMapping().add(caller="fit", callee="fit")
        for name, step in every_part(self.steps):
            if is_private(step):
                router.add(**{name: step}, method_mapping=fits)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            steps = [step for _, step in self.steps if step not in NOTHING]
            known = list(map(get_tags, steps))
        except (TypeError, ValueError):
            # `fit` refuses anything that is not a list of steps.
            known = []
        if known:
            tags.input_tags = known[0].input_tags
            tags.input_tags.sparse = all(each.input_tags.sparse for each in known)
            for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags",
                         "transformer_tags"):
                setattr(tags, name, getattr(known[-1], name))
            tags.no_validation = known[0].no_validation
            tags.non_deterministic = not isinstance(self.random_state, NoiseSeed) and any(
                each.non_deterministic for each in known)
        return tags

    def _sk_visual_block_(self):
        return Pipeline(self.steps)._sk_visual_block_()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_")

    def _known_steps(self):
        """Return the fitted steps, or the given ones before a fit."""
        return getattr(self, "steps_", self.steps)

    @property
    def _inner(self):
        return self._known_steps()[-1][1]

    def _first_step(self):
        """Return the first fitted step that is not "passthrough" or None."""
        steps = [step for _, step in getattr(self, "steps_", ()) if step not in NOTHING]
        if not steps:
            raise AttributeError("it is not fitted")
        return steps[0]

    def _before_last(self, X):
        """Return rows after all steps but the last."""
        check_is_fitted(self)
        for place, (_, step) in enumerate(self.steps_[:-1]):
            with behind(self.steps_, place):
                X = _mapped(step, settled(self.steps_, place, X))
        return settled(self.steps_, len(self.steps_) - 1, X)

    def _delegated(self, method, X, *args, **params):
        X = self._before_last(X)
        with behind(self.steps_, len(self.steps_) - 1):
            return getattr(self.steps_[-1][1], method)(X, *args, **params)

    @available_if(_last_has("score"))
    def score(self, X: Table, y: Table | None = None,
              sample_weight: ArrayLike | None = None) -> float:
        """Return the last step's exact score; not private if the rows are sensitive.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step takes it.
        y : array-like of shape (n,) or None, default=None
            Labels or targets.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows in the mean.

        Returns
        -------
        score : float
            As the last step returns it.
        """
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._delegated("score", X, y, **more)

    @available_if(_last_has("transform"))
    def transform(self, X: Table) -> AnyArray:
        """Return rows after all steps.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step takes it.

        Returns
        -------
        mapped : ndarray of shape (n, n_features_out)
            Or what `set_output` asks for.
        """
        X = self._before_last(X)
        with behind(self.steps_, len(self.steps_) - 1):
            return _mapped(self.steps_[-1][1], X)

    @available_if(_last_has("transform"))
    def fit_transform(self, X: Table, y: Table | None = None, **params: Any) -> AnyArray:
        """Fit all steps, and return rows after them.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step takes it.
        y : array-like of shape (n,) or None, default=None
            Labels or targets.
        **params : dict
            As for `fit`.

        Returns
        -------
        mapped : ndarray of shape (n, n_features_out)
            Or what `set_output` asks for.
        """
        return self.fit(X, y, **params).transform(X)

    @available_if(_last_has("fit_predict"))
    def fit_predict(self, X: Table, y: Table | None = None, **params: Any) -> AnyArray:
        """Fit all steps, and return the predictions of rows, such as their clusters.

        Parameters
        ----------
        X : array-like or table of shape (n, n_features)
            As the first step takes it.
        y : array-like of shape (n,) or None, default=None
            Labels or targets.
        **params : dict
            As for `fit`.

        Returns
        -------
        predictions : ndarray of shape (n,)
            As the last step returns them.
        """
        return self.fit(X, y, **params).predict(X)

    @available_if(_goes_back)
    def inverse_transform(self, X: Table) -> AnyArray:
        """Map rows back through all steps, from the last to the first.

        Parameters
        ----------
        X : array-like of shape (n, n_features_out)
            Rows as `transform` returns them.

        Returns
        -------
        rows : ndarray of shape (n, n_features)
            As the first step took them.
        """
        check_is_fitted(self)
        return _mapped_back(self.steps_, X)

    @available_if(_samples)
    def sample(self, n_samples: int = 1, *args: Any, **params: Any) -> Any:
        """Draw synthetic rows by the last step, mapped back through all other steps.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        *args, **params : Any
            Further arguments of `sample` of the last step.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows as the first step took them, at no further privacy cost.
        y : ndarray of shape (n_samples,)
            Their classes, if the last step has some.
        """
        check_is_fitted(self)
        drawn = self.steps_[-1][1].sample(n_samples, *args, **params)
        rows, *labels = drawn if isinstance(drawn, tuple) else (drawn,)
        rows = _mapped_back(self.steps_[:-1], rows)
        return (rows, *labels) if labels else rows

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> AnyArray:
        """Return the names of the features after all steps that have some.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns, if they had none in `fit`.

        Returns
        -------
        names : ndarray of str
            One per feature.
        """
        check_is_fitted(self)
        names: Any = input_features
        for _, step in self.steps_:
            if step not in NOTHING and hasattr(step, "transform"):
                names = step.get_feature_names_out(names)
        return names

    @property
    def named_steps_(self) -> Any:
        """Bunch : the fitted steps by name."""
        check_is_fitted(self)
        return Bunch(**dict(self.steps_))

    @property
    def named_steps(self) -> Any:
        """Bunch : the steps by name, after `fit` the fitted ones."""
        return Bunch(**dict(self._known_steps()))

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, key: int | str | slice) -> Any:
        """Return a step by index or name, or a pipeline of some steps.

        A pipeline of fitted steps is fitted. Its certificate is that of all steps together, which
        also holds for some of them. Its own `fit` spends all of epsilon on its steps.
        """
        if not isinstance(key, slice):
            steps = self._known_steps()
            return dict(steps)[key] if isinstance(key, str) else steps[key][1]
        if key.step not in (1, None):
            raise ValueError(f"step={key.step!r}: a part of a pipeline has its steps in their "
                             "order; use a slice without a step.")
        names = [name for name, _ in self.steps[key]]

        def chosen(values):
            # Names of parts begin with the name of their step.
            return {name: each for name, each in values.items()
                    if name.partition("__")[0] in names}

        params = self.get_params(deep=False)
        if params.get("shares"):
            params["shares"] = chosen(params["shares"])
        part = type(self)(**{**params, "steps": self.steps[key]})
        if hasattr(self, "steps_"):
            part.steps_, part.privacy_ = self.steps_[key], self.privacy_
            part.step_certificates_ = chosen(self.step_certificates_)
        return part

    @property
    def classes_(self) -> AnyArray:
        """ndarray of shape (n_classes,) : the classes of the last step."""
        return self._inner.classes_

    @property
    def n_features_in_(self) -> int:
        """int : the number of features that the first step has seen."""
        return self._first_step().n_features_in_

    @property
    def feature_names_in_(self) -> AnyArray:
        """ndarray of str : the names of the features that the first step has seen."""
        return self._first_step().feature_names_in_
