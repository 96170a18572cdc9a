"""What private steps would refuse of parameters and targets, raised before the first is fitted."""

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from dpsk._data.labels import encode_labels
from dpsk._data.opening import check_targets
from dpsk._data.targets import numeric_targets
from dpsk._data.weights import check_weights, class_factors
from dpsk._fit import check_holdout
from dpsk._parameters import check_real

__all__ = ["check_fit", "check_prices", "check_shares"]


def check_fit(steps, private, params, y, n_samples):
    """Raise what private steps would of targets, weights and parameters."""
    for part, step in ((part, steps[part]) for part in private):
        if hasattr(step, "_check_inside"):
            step._check_inside(y, n_samples)
        elif hasattr(step, "_check_params"):
            step._check_params()
        if getattr(step, "solver", "auto") != "auto" and hasattr(step, "_build_solver"):
            check_holdout(step.solver, step._build_solver(step.solver),
                          params.get(part, {}).get("public_X"))
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


def check_shares(name, value):
    """Raise a ValueError unless `value` is a dict of shares that sum to at most 1."""
    remedy = "a dict from names of steps to numbers in (0, 1], such as {'table': 0.2}"
    if not isinstance(value, dict):
        raise ValueError(f"{name}={value!r}: must be None, or {remedy}.")
    for step, share in value.items():
        check_real(f"{name}[{step!r}]", share, low=0, open_low=True, high=1, remedy=remedy)
    if sum(value.values()) > 1.0 + 1e-12:
        raise ValueError(f"{name}={value!r}: must sum to at most 1.")
