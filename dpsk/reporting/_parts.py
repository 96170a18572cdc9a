"""Walk through a fitted object, and find its private fits and other contents."""

import inspect
import re
import types
from dataclasses import replace

import numpy as np
from sklearn.utils import Bunch, get_tags

from dpsk._budget import PrivacyBudget
from dpsk._drawing import LineDisplay
from dpsk._kinds import KEEPS, MIXES, NOTHING, OURS, PICKS, counts_rows, kind_of
from dpsk._origin import is_of
from dpsk._privacy.budget_certificate import BudgetCertificate
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.certificate_fields import HANDED_OVER, SAME_GROUPS
from dpsk.reporting import _searches  # noqa: F401  # registers what searches are made of
from dpsk.reporting._attributes import attributes, is_own, is_template, parameters
from dpsk.reporting._findings import (
    COUNTED,
    LEARNT,
    UNKEPT,
    UNKNOWN,
    Exposed,
    Fitted,
    Member,
    Note,
    Private,
)
from dpsk.reporting._folds import LISTED, STRATIFIED, are_stratified
from dpsk.reporting._report import PrivacyReport
from dpsk.reporting._scores import scores
from dpsk.reporting._values import inside, is_estimator
from dpsk.reporting._wrappers import STATELESS, UNKEPT_FITS, WRAPPERS

__all__ = ["parts_of"]

#: Types of classes and functions.
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType)
#: Packages whose objects, other than estimators, hold nothing beyond their attributes.
_DETAILS = ("sklearn", "scipy", "joblib", "matplotlib")
_SENTENCES = {
    KEEPS: "has no certificate: it keeps rows, or what they are known by, as they are.",
    MIXES: "has no certificate: what it makes of one row follows from others as well.",
    PICKS: "has no certificate: it picks columns by exact scores of rows.",
}
_LEARNS = ("has no certificate: what it learnt from rows, it learnt without noise as far as is "
           "known.")
_DRAWN = ("axes and figures are taken to show nothing but this display: what else is drawn on "
          "them is not covered.")
_AGAIN = ("the same object is here more than once, and holds its last fit alone: what earlier "
          "fits cost is unknown. Report on each fit before the next one, fit clones, or fit "
          "inside a PrivacyBudget. If it was fitted once, list it once, or put a copy.deepcopy of "
          "it in every other place.")


def parts_of(fitted, path):
    """Yield the findings in a fitted object at a place `path`.

    Parameters
    ----------
    fitted : object
    path : str

    Yields
    ------
    part : Private, Exposed, Note or Fitted
    """
    if isinstance(fitted, PrivacyBudget):
        fitted = fitted.certificate()
    several = next((says for cls, says in _SEVERAL if type(fitted) is cls), None)
    if several is not None:
        yield from _of_several(several(fitted, path))
        return
    kind, name = kind_of(type(fitted)), type(fitted).__name__
    if kind is None:
        yield _unknown(fitted, path)
    elif kind == OURS:
        yield from _ours(fitted, path)
    elif name not in STATELESS and kind != NOTHING and is_template(fitted) and not (
            kind == MIXES and not get_tags(fitted).requires_fit):
        # The object itself is not fitted, but its parameters may hold fitted objects.
        yield from _held(fitted, path, {})
    elif name in WRAPPERS:
        yield from _wrapper(fitted, path)
    elif kind == NOTHING:
        if counts_rows(fitted):
            yield Exposed(path, "n_components='auto' follows from the number of rows, which "
                                "guarantees for groups of rows do not cover; set a number.",
                          COUNTED)
        yield from _held(fitted, path, {})
    else:
        yield from _learnt(fitted, path, _SENTENCES.get(kind, _LEARNS),
                           UNKNOWN if kind == MIXES else LEARNT)


def _of_several(members, together=False):
    """Yield the findings in members, and one for each object in several members.

    Members that one call fitted together may share a frozen estimator.
    """
    met = {}
    for member in members:
        for part in _expanded(member):
            yield part
            if not isinstance(part, Fitted):
                continue
            # Keeping the object alive ensures that its identity is not reused.
            first, other = met.setdefault(id(part.fitted), (member, part))
            shared = together and part.frozen is not None and part.frozen is other.frozen
            if first is not member and not shared:
                yield Exposed(part.path, _AGAIN, UNKNOWN)


def _without_fitted(parts):
    """Yield the findings other than `Fitted`, for parts such as parameters."""
    return (part for part in parts if not isinstance(part, Fitted))


def _expanded(part):
    """Yield a finding as it is, or the findings in a member."""
    if not isinstance(part, Member):
        yield part
    elif not part.silent:
        yield from parts_of(part.fitted, part.path)
    elif is_estimator(part.fitted):
        yield from _held(part.fitted, part.path, {})


def _ours(fitted, path):
    """Yield the certificate and the other findings of an object of this package."""
    certificate, name = _certificate(fitted), type(fitted).__name__
    if certificate is None and not is_template(fitted):
        yield Exposed(path, f"{name} {_LEARNS}")
    if certificate is None:
        yield from _held(fitted, path, {})
        return
    yield Fitted(path, fitted)
    yield from _of_certificate(certificate, path)
    said = set()
    for part in _without_fitted(_held(fitted, path, {})):
        if isinstance(part, Private):
            # The certificate covers everything its fit released, but not parameters that were
            # fitted before.
            name = re.split(r"[.\[]", part.path[len(path) + 1:])[0]
            if part.certificate is not certificate and name in parameters(type(fitted)):
                yield part
        elif part.sentence not in said:
            said.add(part.sentence)
            yield part


def _wrapper(model, path):
    """Yield the findings of a scikit-learn wrapper, its members and attributes."""
    said = list(WRAPPERS[type(model).__name__](model, path))
    seen = {id(part.fitted): part.fitted for part in said if isinstance(part, Member)}
    is_open = any(isinstance(part, Exposed) and part.why != COUNTED for part in said)
    found = list(_of_several(said, together=getattr(model, "cv", None) != "prefit"))
    found += scores(model, path)
    name = type(model).__name__
    if _splits_by_labels(model) and not any(
            getattr(part, "sentence", None) == STRATIFIED for part in found):
        found.append(Exposed(path, STRATIFIED))
    if name == "FrozenEstimator":
        found = [replace(part, frozen=model) if isinstance(part, Fitted) else part
                 for part in _frozen(model, found, path)]
    yield from found
    # The best estimator of a search shares its certificate with its member.
    seen |= {id(part.certificate): part.certificate for part in found
             if isinstance(part, Private)}
    # A wrapper without a guarantee is searched only for further fitted estimators.
    yield from _without_fitted((_fitted_ones if is_open else _held)(model, path, seen))


def _splits_by_labels(model):
    """Return whether a wrapper fitted members on folds that are stratified by labels."""
    # Chains have folds only if cv is given.
    if "cv" not in parameters(type(model)) or (
            model.cv is None and type(model).__name__.endswith("Chain")):
        return False
    return any(are_stratified(model.cv, each)
               for each in (model, getattr(model, "estimator", model)))


def _frozen(model, found, path):
    """Return the findings in a frozen object; exact learning alone is an assumption.

    A frozen object without private fits is assumed to be fitted on public rows.
    """
    learnt = [part for part in found if getattr(part, "why", None) in (LEARNT, COUNTED)]
    # If there are private fits, the rows are private, also for exact learning in the object.
    if not learnt or not all(part in learnt or isinstance(part, Note) for part in found):
        return found
    name = type(model.estimator).__name__
    return [*(part for part in found if part not in learnt), Note(
        path, f"{name} is frozen and has no private part: that it was fitted to public rows is "
              "taken on trust.")]


def _learnt(fitted, path, sentence, why):
    """Yield a finding for exact learning, and the private fits inside the object."""
    yield Exposed(path, f"{type(fitted).__name__} {sentence}", why)
    inner = [part for part in _fitted_ones(fitted, path, {})
             if getattr(part, "why", None) != LEARNT]
    yield from inner
    yield from scores(fitted, path)
    if any(isinstance(part, Private) for part in inner):
        yield Exposed(path, UNKEPT_FITS, UNKEPT)


def _held(thing, path, seen):
    """Yield the findings in an object's attributes; its own code must set them."""
    for name, value in attributes(thing).items():
        place = f"{path}.{name}"
        if not is_own(type(thing), name, value) and id(value) not in seen:
            yield Exposed(place, f"{type(thing).__name__} holds {name!r}, which its own code does "
                                 "not set: unknown, no guarantee. Delete it, and report on it by "
                                 "itself.", UNKNOWN)
        elif issubclass(type(thing), LineDisplay) and is_of(type(value), "matplotlib"):
            yield Note(place, _DRAWN)
        else:
            yield from _of_value(value, place, seen)


def _of_value(value, place, seen):
    """Yield the findings in the value of an attribute."""
    for where, each in inside(value, place, seen):
        if type(each) is Certificate:
            yield Private(where, each)
        elif kind_of(type(each)) == OURS and not is_estimator(each):
            # Estimators carry budgets to workers; budgets hold no data.
            if not isinstance(each, PrivacyBudget):
                yield from _held(each, where, seen)
        else:
            yield from parts_of(each, where)


def _fitted_ones(thing, path, seen):
    """Yield the findings in estimators among attributes, and unknown code."""
    for name, value in attributes(thing).items():
        for where, each in inside(value, f"{path}.{name}", seen):
            if type(each) is np.ma.MaskedArray:
                # `cv_results_` holds masked arrays.
                held = types.SimpleNamespace(data=each.data, fill_value=each.fill_value)
                yield from _fitted_ones(held, where, seen)
            elif _is_detail(each):
                # For example, the calibrators of CalibratedClassifierCV.
                yield from _fitted_ones(each, where, seen)
            elif is_estimator(each):
                yield from parts_of(each, where)
            elif not is_of(type(each), "dpsk"):
                yield Exposed(where, f"{type(each).__name__} of unknown code, no guarantee: it "
                                     "may have looked at rows, or fitted models that are not "
                                     "counted. Fit inside a PrivacyBudget, which charges them.",
                              UNKNOWN)


def _is_detail(thing):
    """Return whether an object is of a known package, but no function or estimator."""
    return kind_of(type(thing)) is None and not isinstance(thing, _NAMED) and any(
        is_of(type(thing), package) for package in _DETAILS)


def _unknown(fitted, path):
    """Return the finding for an object of an unknown class."""
    cls = type(fitted)
    known = next((base for base in cls.__mro__[1:] if kind_of(base) is not None
                  and is_estimator(base)), None)
    what = "a class of neither dpsk nor scikit-learn"
    if known is not None:
        what = f"a subclass of {known.__name__}, whose methods may be others,"
    return Exposed(path, f"{cls.__name__} is unknown, no guarantee: {what} may learn from rows in "
                         "any method. Use classes of dpsk and of scikit-learn as they are; or "
                         "report on the certificates inside (privacy_), and vouch for the rest.",
                   UNKNOWN)


def _certificate(fitted):
    """Return an object's own certificate, not one delegated from a part; or None."""
    try:
        inspect.getattr_static(fitted, "privacy_")
    except AttributeError:
        return None
    found = fitted.privacy_
    return found if type(found) is Certificate else None


def _of_certificate(certificate, path):
    yield Private(path, certificate)
    if HANDED_OVER in certificate.public:
        yield Exposed(path, LISTED)
    if certificate.reproducible:
        yield Note(path, "the noise repeats under a seed: it is not private for anyone who knows "
                         "or can guess that.")


def _of_budget(certificate, path):
    yield Private(path, certificate.combined(), fits=len(certificate.charges))
    for line in certificate.assumed:
        # The report adds one such note for all its fits.
        if line != SAME_GROUPS:
            yield Note(path, f"{line[0].upper()}{line[1:]}.")


def _of_report(report, path):
    for part in (*report.private, *report.exposed, *report.notes):
        yield replace(part, path=f"{path}.{part.path}")


def _of_sequence(several, path):
    for place, each in enumerate(several):
        yield Member(f"{path}[{place}]", each)


def _of_dict(results, path):
    """Yield the fitted objects in a dict, or in the output of `cross_validate`."""
    if "fit_time" not in results:
        for name, each in results.items():
            yield Member(f"{path}[{name!r}]", each)
            for where, other in inside(name, f"{path}[{name!r}]", {}):
                yield Member(where, other)
        return
    yield Exposed(path, "scores have no certificate: exact ones have no noise, and private ones "
                        "are not counted here; fit and score inside a PrivacyBudget, which "
                        "charges them.", UNKEPT)
    yield Exposed(path, "times of fits and of scores depend on rows.")
    if "estimator" not in results:
        yield Exposed(path, "the models were not kept, so what they cost is not known; use "
                            "return_estimator=True, or fit inside a PrivacyBudget.", UNKEPT)
    for name, value in results.items():
        if name != "indices":
            for where, each in inside(value, f"{path}[{name!r}]", {}):
                yield Member(where, each)


#: Exact types of containers and of objects that stand for fits, with their readers.
_SEVERAL = ((Certificate, _of_certificate), (BudgetCertificate, _of_budget),
            (PrivacyReport, _of_report), (list, _of_sequence), (tuple, _of_sequence),
            (dict, _of_dict), (Bunch, _of_dict))
