"""The additive model inside a wrapper such as a pipeline, and its column names."""

from dataclasses import replace

from sklearn.utils.validation import check_is_fitted

__all__ = ["model_of", "named_terms"]

#: Attributes in which wrappers hold their fitted estimator.
_INSIDE = ("best_estimator_", "estimator_")


def model_of(estimator):
    """Return the fitted additive model of an estimator, and its column names.

    Raises a ValueError if there is no such model, and NotFittedError if it is not fitted.
    """
    given, names = estimator, {}
    while not hasattr(type(estimator), "terms_"):
        inner = next((name for name in _INSIDE if hasattr(estimator, name)), None)
        if inner is not None:
            estimator = getattr(estimator, inner)
        elif hasattr(estimator, "steps"):
            check_is_fitted(estimator)
            *before, (_, last) = getattr(estimator, "steps_", estimator.steps)
            if before and hasattr(type(last), "terms_"):
                names = _names_after(before)
            estimator = last
        elif hasattr(estimator, "estimator"):
            # Raises NotFittedError, unless the wrapper counts as fitted with its inner estimator.
            check_is_fitted(estimator)
            estimator = estimator.estimator
        else:
            raise ValueError(f"estimator={type(given).__name__}: has no curves; use "
                             "DPAdditiveClassifier or DPAdditiveRegressor, or what is around one.")
    check_is_fitted(estimator, "privacy_")
    return estimator, names


def named_terms(model, names):
    """Return the terms of a model, with columns renamed by `names`."""
    return [replace(term, axes=tuple(replace(axis, column=names.get(axis.column, axis.column))
                                     for axis in term.axes)) for term in model.terms_]


def _names_after(steps):
    """Return feature names after steps, by position; empty if a step has no names."""
    found = None
    for _, step in steps:
        if step in ("passthrough", None):
            continue
        try:
            found = step.get_feature_names_out(found)
        except (AttributeError, ValueError):
            return {}
    return {} if found is None else dict(enumerate(found))
