"""What private steps would refuse of parameters and targets, raised before the first is fitted."""

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from dpsk._data.errors import without_warnings
from dpsk._data.labels import encode_labels
from dpsk._data.opening import check_targets
from dpsk._data.targets import numeric_targets
from dpsk._data.weights import check_weights, class_factors
from dpsk._fit import check_holdout
from dpsk._output import check_output_container
from dpsk._parameters import check_real
from dpsk._rehearsal import rehearse
from dpsk.pipeline._known import is_private

__all__ = ["check_fit", "check_parameters", "check_prices", "check_shares"]


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
        check_weights(given.get("sample_weight"), np.zeros((n_samples, 1)), np.float64,
                      narrow=np.float32)


def check_parameters(step):
    """Raise what a step of scikit-learn would of its parameters, and any of its output container.
    """
    if not is_private(step) and hasattr(step, "_parameter_constraints"):
        step._validate_params()
    check_output_container(step)


def check_prices(priced, y, n_samples, params):
    """Raise what steps would at their (epsilon, delta), whatever the columns.

    `priced` is a dict of (step, price) by name; a step says what it refuses by
    ``_check_fit(n_samples, y)``, and by a fit to a column of zeros where any rows will do.
    """
    for name, (step, (epsilon, delta)) in priced.items():
        predicts = hasattr(step, "_target_checks")
        labels = check_targets(type(step).__name__, y, n_samples,
                               step._target_checks) if predicts else None
        step = clone(step).set_params(epsilon=epsilon, delta=delta)
        if hasattr(step, "_check_fit"):
            without_warnings(step._check_fit, n_samples, labels)
        if not predicts:
            continue
        given = params.get(name, {})
        # Rows of others have names, or go with public ones.
        if not ({"columns", "interactions"} & set(step.get_params(deep=False))
                or "public_X" in given):
            rehearse(step, np.zeros((n_samples, 1)), labels, **given)


def check_shares(name, value):
    """Raise a ValueError unless `value` is a dict of shares that sum to at most 1."""
    remedy = "a dict from names of steps to numbers in (0, 1], such as {'table': 0.2}"
    if not isinstance(value, dict):
        raise ValueError(f"{name}={value!r}: must be None, or {remedy}.")
    for step, share in value.items():
        check_real(f"{name}[{step!r}]", share, low=0, open_low=True, high=1, remedy=remedy)
    if sum(value.values()) > 1.0 + 1e-12:
        raise ValueError(f"{name}={value!r}: must sum to at most 1.")
