"""What private steps would refuse of parameters and targets, raised before the first is fitted."""

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from dpsk._data.labels import encode_labels
from dpsk._data.opening import check_targets
from dpsk._data.targets import numeric_targets
from dpsk._data.weights import check_weights, class_factors

__all__ = ["check_fit", "check_prices"]


def check_fit(steps, private, params, y, n_samples):
    """Raise what private steps would of targets, weights and parameters."""
    for step in map(steps.get, private):
        if hasattr(step, "_check_inside"):
            step._check_inside(y, n_samples)
        elif hasattr(step, "_check_params"):
            step._check_params()
        if getattr(step, "solver", "auto") != "auto" and hasattr(step, "_build_solver"):
            step._build_solver(step.solver)
        if not hasattr(step, "_target_checks"):
            continue
        name = type(step).__name__
        labels = check_targets(name, y, n_samples, step._target_checks)
        if is_classifier(step):
            classes, _ = encode_labels(labels, step.classes, name)
            if hasattr(step, "_check_classes"):
                step._check_classes(classes)
            if step.class_weight is not None:
                class_factors(step.class_weight, classes)
        elif is_regressor(step):
            numeric_targets(labels)
    for given in params.values():
        check_weights(given.get("sample_weight"), np.zeros((n_samples, 1)), np.float64)


def check_prices(priced, y, n_samples):
    """Raise what steps would at their (epsilon, delta), whatever the columns.

    `priced` is a dict of (step, price) by name; a step says what it refuses by
    ``_check_fit(n_samples, y)``.
    """
    for step, (epsilon, delta) in priced.values():
        if hasattr(step, "_check_fit") and hasattr(step, "_target_checks"):
            labels = check_targets(type(step).__name__, y, n_samples, step._target_checks)
            clone(step).set_params(epsilon=epsilon, delta=delta)._check_fit(n_samples, labels)
