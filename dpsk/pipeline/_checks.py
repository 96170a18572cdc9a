"""Checks of parameters and targets of all private steps, before the first fit."""

from inspect import signature

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.utils.metadata_routing import process_routing

from dpsk._budgeted import asked
from dpsk._data.errors import without_warnings
from dpsk._data.labels import encode_labels
from dpsk._data.opening import check_targets
from dpsk._data.weights import check_weights, class_factors
from dpsk._fit import check_holdout
from dpsk._kinds import counts_rows
from dpsk._output import check_output_container
from dpsk._parameters import check_real
from dpsk._privacy.certificate_fields import facts_of_wholes
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk._rehearsal import rehearse
from dpsk.pipeline._known import NOTHING, is_private, takes
from dpsk.pipeline._parts import every_part, trusted_facts

__all__ = ["check_fit", "check_parameters", "check_prices", "check_shares", "is_seeded",
           "public_facts", "routed"]


def check_fit(steps, private, params, y, n_samples):
    """Raise the errors of private steps about targets, weights and parameters."""
    for part, step in ((part, steps[part]) for part in private):
        known, given = asked(step), params.get(part, {})
        known._check_inside(y, n_samples, {name: each for name, each in given.items()
                                           if name != "groups"})
        solver = known._named_solver()
        if solver is not None:
            check_holdout(step.solver, solver, given.get("public_X"))
        if known._target_checks is None:
            continue
        name = type(step).__name__
        labels = check_targets(name, y, n_samples, known._target_checks)
        if is_classifier(step):
            classes, _ = encode_labels(labels, step.classes, name)
            known._check_classes(classes)
            if getattr(step, "class_weight", None) is not None:
                class_factors(step.class_weight, classes, known._balances)
    for given in params.values():
        check_weights(given.get("sample_weight"), np.zeros((n_samples, 1)), np.float64,
                      narrow=np.float32)


def public_facts(steps, private, y, n_samples, grouped=False):
    """Return the public facts of all steps that are known before the first fit."""
    facts = [*facts_of_wholes(grouped), *trusted_facts(list(steps.items()))]
    for part, step in ((part, steps[part]) for part in private):
        if hasattr(step, "steps"):
            inner = public_facts(dict(every_part(step.steps)), step._check_steps(), y, n_samples,
                                 grouped)
            facts += [f"{part}: {fact}" for fact in inner[len(facts_of_wholes(grouped)):]]
        else:
            facts += [f"{part}: {fact}" for fact in asked(step)._label_facts(y, n_samples)]
    return facts


def is_seeded(step):
    """Return whether a step has a `NoiseSeed` of its own, so that its noise repeats."""
    return step not in NOTHING and any(
        isinstance(value, NoiseSeed) for value in step.get_params().values())


def check_parameters(step):
    """Check the parameters of a scikit-learn step, and the output container of any."""
    if not is_private(step) and hasattr(step, "_parameter_constraints"):
        step._validate_params()
    check_output_container(step)


def check_prices(priced, y, n_samples, n_units, params):
    """Raise the errors of steps at their (epsilon, delta), whatever the columns.

    Return the events that steps would be charged, by name, where they are known. `priced` maps
    names to (step, (epsilon, delta)). A step is checked by ``_check_fit(n_units, y)``, and by a
    rehearsal on a column of zeros if any rows will do, or if rows have groups.
    """
    found = {}
    for name, (step, (epsilon, delta)) in priced.items():
        expected = asked(step)._target_checks
        labels = None if expected is None else check_targets(type(step).__name__, y, n_samples,
                                                             expected)
        step = clone(step).set_params(epsilon=epsilon, delta=delta)
        without_warnings(asked(step)._check_fit, n_units, labels)
        if expected is None:
            continue
        given = params.get(name, {})
        if "n_components" in step.get_params(deep=False):
            # The one column of zeros has one direction.
            step.set_params(n_components=None)
        # Zeros cannot stand in for columns that have names, or for rows next to public rows.
        plain = {name: value for name, value in (("columns", None), ("interactions", 0))
                 if name in step.get_params(deep=False)}
        if "groups" in given:
            step.set_params(**plain)
        elif plain:
            continue
        if "public_X" not in given:
            found[name] = rehearse(step, np.zeros((n_samples, 1)), labels, **given)
    return found


def check_shares(name, value):
    """Raise a ValueError unless `value` is a dict of shares that sum to at most 1."""
    remedy = "a dict from names of steps to numbers in (0, 1], such as {'table': 0.2}"
    if not isinstance(value, dict):
        raise ValueError(f"{name}={value!r}: must be None, or {remedy}.")
    for step, share in value.items():
        check_real(f"{name}[{step!r}]", share, low=0, open_low=True, high=1, remedy=remedy)
    if sum(value.values()) > 1.0 + 1e-12:
        raise ValueError(f"{name}={value!r}: must sum to at most 1.")


def _requested(pipeline, params):
    """Return parameters by ``step__name``; with metadata routing, steps may request others."""
    plain = {key: value for key, value in params.items() if "__" not in key}
    if not (plain and get_config()["enable_metadata_routing"]):
        return params
    found = {key: value for key, value in params.items() if key not in plain}
    for step, given in process_routing(pipeline, "fit", **plain).items():
        found.update({f"{step}__{key}": value for key, value in given.fit.items()})
    return found


def routed(pipeline, params, private, members):
    """Return the `fit` parameters of private steps, by step name.

    Parameters that no private step takes are refused. If rows have groups, which are `members`,
    steps that do not protect groups are refused too.
    """
    params, steps, found = _requested(pipeline, params), dict(every_part(pipeline.steps)), {}
    if members is not None:
        _check_groups(steps)
        found = {name: {"groups": members.codes} for name in private}
    for key, value in params.items():
        name = next((name for name in private if key.startswith(f"{name}__")), None)
        parameter = key.removeprefix(f"{name}__")
        if name is None or not takes(steps[name], parameter):
            wanted = key.rpartition("__")[2]
            known = [f"{each}__{wanted}" for each in private if takes(steps[each], wanted)]
            remedy = (f"give it to a step, as fit(X, y, {known[-1]}=...)" if known
                      else "leave it out, as no private step takes it")
            raise ValueError(f"{key!r} is no parameter of DPPipeline.fit, which takes those of "
                             f"private steps as step__name; {remedy}.")
        if parameter == "groups" and not hasattr(steps[name], "group_labels"):
            raise ValueError(f"{key!r}: all steps of a pipeline protect the same people; give "
                             "groups to the fit of the pipeline itself.")
        found.setdefault(name, {})[parameter] = value
    return found


def _check_groups(steps):
    """Raise a ValueError for steps, or steps of these, that do not protect groups of rows."""
    for name, step in steps.items():
        private = is_private(step)
        if private and not _protects_groups(step):
            raise ValueError(f"groups: step {name!r}, {type(step).__name__}, protects rows and "
                             "not groups of them; leave it out, or groups=None.")
        if counts_rows(step):
            raise ValueError(f"groups: step {name!r}: n_components='auto' follows from the number "
                             "of rows, which groups keep private; set a number.")
        if private and hasattr(step, "steps"):
            _check_groups(dict(every_part(step.steps)))


def _protects_groups(step):
    """Return whether `fit` of a step takes `groups`, to protect whole groups."""
    return "groups" in signature(step.fit).parameters and not hasattr(step, "group_labels")
