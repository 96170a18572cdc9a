"""Models chosen on held-out rows: split by index, budgets of runs, one certificate."""

from __future__ import annotations

import hashlib
from abc import ABC
from inspect import signature
from typing import TYPE_CHECKING, ClassVar

import joblib
import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from dpsk._budgeted import Budgeted, facts_on_trust
from dpsk._charging import Carries, open_budgets, paid_for
from dpsk._data.errors import discreetly, without_warnings
from dpsk._data.labels import encode_labels, labels_fact
from dpsk._data.opening import check_targets
from dpsk._data.source import Rows
from dpsk._data.validation import check_in_memory, count_rows
from dpsk._delegation import Delegates
from dpsk._fit import Method, certify, opened_stream, warn_of_weak_budget
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS, number
from dpsk._privacy.certificate import GROUP_RELATION, Certificate
from dpsk._privacy.certificate_fields import facts_of_wholes
from dpsk._privacy.filters import RUNS_CHANCE
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk._progress import without_callbacks
from dpsk._rehearsal import rehearse
from dpsk._steps import PARTS
from dpsk._warnings import note_charge
from dpsk.model_selection._settings import settings_text
from dpsk.model_selection._split import holdout_size

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray

__all__ = ["HoldoutModel", "last_step", "trained"]

_SPLIT = "split of rows, by their index"
_GROUP_SPLIT = "split of groups of rows, by their index"

_SEEDS = 1 << 63


class HoldoutModel(Budgeted, Delegates, Carries, BaseEstimator, ABC):
    """Base of estimators that train on some rows and choose on held-out rows.

    Rows are split by index. Each row is in one part only, so the two parts together cost no more
    than the more expensive one.
    """

    #: The attribute that holds the chosen model, and the name of the procedure in messages.
    _chosen: ClassVar[str]
    _kind: ClassVar[str]
    _constraints: ClassVar[dict] = {
        "epsilon": number("a finite number > 0 and at most 1e12, such as 1.0; for fits without "
                          "noise use scikit-learn's", low=0, open_low=True, high=1e12),
        "delta": GAUSSIAN_DELTA,
        "test_size": number("a number in (0, 1), the share of rows that are held out", low=0,
                            open_low=True, high=1, open_high=True),
        **{name: PARAMETER_CONSTRAINTS[name] for name in ("random_state", "verbose")}}

    def _check_params(self):
        for name, check in self._constraints.items():
            check(name, getattr(self, name))
        estimator, name = self.estimator, type(self.estimator).__name__
        if not (_has_price(estimator) and hasattr(estimator, "predict")
                and _has_price(last_step(estimator))):
            raise ValueError(f"estimator={name}: its privacy cost is unknown; use a classifier "
                             "or a regressor of dpsk, or a DPPipeline.")
        if hasattr(estimator, "group_labels"):
            raise ValueError(f"estimator={name}: it is fitted with groups, which "
                             f"{type(self).__name__} does not pass on; use one that is fitted to "
                             "rows.")
        seeds = [value for key, value in estimator.get_params().items()
                 if key.split("__")[-1] == "random_state" and isinstance(value, NoiseSeed)]
        if seeds:
            raise ValueError(f"estimator={name}: with random_state={seeds[0]!r} runs would not be "
                             f"independent; give the seed to the {self._kind} instead.")
        self._key()

    def _key(self) -> str:
        """Return the text of all parameters if it keys the noise, else ""."""
        return settings_text(self) if isinstance(self.random_state, NoiseSeed) else ""

    def _sizes(self, n_samples: int) -> tuple[int, int]:
        """Return the numbers of training and of held-out rows."""
        held_out = holdout_size(n_samples, float(self.test_size))
        return n_samples - held_out, held_out

    def _allowed(self, n_samples: int) -> tuple[float, float]:
        """Return epsilon and delta; delta defaults to 1 / n_samples**2."""
        delta = 1.0 / n_samples**2 if self.delta is None else self.delta
        return float(self.epsilon), float(delta)

    def _most_chance(self) -> float:
        """Return the largest probability of full disclosure that open budgets allow."""
        return min((RUNS_CHANCE * account.terms["disclosure"]
                    for account in open_budgets(self._carried)
                    if account.terms.get("disclosure")), default=1.0)

    def _at_budget(self, model, session, classes, plan):
        """Return the model with the budget of one run, and a seed if noise repeats."""
        if isinstance(self.random_state, NoiseSeed):
            model.set_params(random_state=NoiseSeed(session.index(_SEEDS)))
        return self._priced(model, classes, plan)

    def _priced(self, model, classes, plan):
        """Return the model with the budget of one run, all classes and verbose=0."""
        if getattr(model, "refit", True) is False:
            raise ValueError(f"estimator={type(model).__name__}: with refit=False it keeps no "
                             "model that could be scored; leave refit=True.")
        model.set_params(epsilon=plan.run_epsilon, delta=plan.run_delta)
        for key in model.get_params():
            if key.split("__")[-1] == "verbose":
                model.set_params(**{key: 0})
        last = last_step(model)
        # The label set is public, as in any fit. The training part may lack some labels.
        if classes is not None and getattr(last, "classes", classes) is None:
            last.set_params(classes=classes.tolist())
        return model

    def _opened(self, X):
        """Return rows that can be split, and their number."""
        name = type(self).__name__
        check_in_memory(name, "splits rows by their index", X)
        n_samples = count_rows(name, X)
        (X,) = discreetly("X", indexable, X)
        return X, n_samples

    def _checked_targets(self, y, n_samples):
        """Return targets as an array, and the classes of a classifier, or None."""
        name = type(self).__name__
        last = last_step(self.estimator)
        y = check_targets(name, y, n_samples, last._target_checks or {})
        if not is_classifier(self.estimator):
            return y, None
        return y, encode_labels(y, last.classes, name)[0]

    def _checked_plan(self, models, plan, table):
        """Check all rows as a run would, before any charge, and return the plan.

        The returned plan trains with less if a run would exceed its budget otherwise.
        """
        for model in models if plan.grouped else ():
            if "groups" not in signature(model.fit).parameters:
                raise ValueError(f"groups: {type(model).__name__} protects rows, and not groups "
                                 "of them; use another estimator, or groups=None.")
        for model in () if table.weights is None else models:
            # A pipeline takes what its steps request.
            routes = hasattr(model, "steps") and get_config()["enable_metadata_routing"]
            if not routes and "sample_weight" not in signature(model.fit).parameters:
                raise ValueError(f"sample_weight: {type(model).__name__}.fit has no such "
                                 "parameter; use another estimator, metadata routing to steps "
                                 "of a pipeline, or sample_weight=None.")
        _check_tables(models, table.X, table.y)
        classes = None
        if is_classifier(self.estimator):
            classes, _ = encode_labels(table.y, last_step(self.estimator).classes, "")
        # Rehearse on as many rows as are trained on; any of them will do.
        few = table.units(slice(0, plan.n_train))
        for model in models:
            for share in PARTS:
                less = plan if share == 1 else plan.with_less(share)
                event = rehearse(self._priced(clone(model), classes, less), few.X, few.y,
                                 **few.told)
                if event is None or plan.covers(event):
                    break
            else:
                raise RuntimeError(f"A run of {type(model).__name__} would cost more than its "
                                   "budget; nothing was charged or drawn. Leave that setting "
                                   "out.")
            if less.run_epsilon < plan.run_epsilon:
                plan = less
        return plan

    def _check_table(self, X: Any, y: Any) -> None:
        """Raise the errors of the models that may be trained about rows."""
        _check_tables(self._representatives(), X, y)

    def _representatives(self) -> list[Any]:
        """Return models that represent all that may be trained."""
        return [self.estimator]

    def _trusted_facts(self) -> list[str]:
        return self._trusted_of([self.estimator])

    def _trusted_of(self, models: Any) -> list[str]:
        """Return the unverified assumptions of training these models."""
        return list(dict.fromkeys(
            fact for model in models for fact in facts_on_trust(model)))

    def _opened_session(self, plan, table, models, parts=()):
        """Charge the open budgets; return the method, its session and its noise stream.

        `models` represent all models that may be trained. `parts` are the two parts of a split
        that was passed as `cv`; they also key repeatable noise.
        """
        warn_of_weak_budget(plan.budget)
        method = Method.of(self, self._key())
        session, stream = opened_stream(
            method, (plan, f"{self._kind}, {plan}"), _key_rows(self.random_state, table, *parts),
            plan.event, random_state=self.random_state, verbose=self.verbose,
            of_groups=plan.grouped,
            public=(*facts_of_wholes(plan.grouped), self._split_fact(plan),
                    *self._label_facts(table.y, len(table.y)), *self._trusted_of(models)))
        return method, session, stream

    def _label_facts(self, y: Any, n_samples: int) -> list[str]:
        """Return the public facts about the labels of a classifier."""
        classes = self._checked_targets(y, n_samples)[1]
        return [] if classes is None else [
            labels_fact(classes, last_step(self.estimator).classes)]

    def _parts(self, plan, table):
        """Return the training part and the held-out part."""
        return table.split(plan.budget.n_samples, plan.n_holdout, self.random_state)

    def _split_fact(self, plan):
        """Return the public fact about the split."""
        return _GROUP_SPLIT if plan.grouped else _SPLIT

    def _certificate(self, method, plan, stream, own, classes, *, enforced, released,
                     trusted):
        """Return the certificate of all outputs, with the bounds of the best run."""
        public = own.public
        if classes is not None and last_step(self.estimator).classes is None:
            # Runs were given the classes, which were inferred from all rows.
            public = [fact.replace(labels_fact(classes, classes), labels_fact(classes, None))
                      for fact in public]
        size = "number of groups of rows, and not that of rows" if plan.grouped else (
            "number of rows")
        return certify(
            method, f"{plan}; the best: {own.estimator}, {own.solver}", plan.budget,
            event=plan.event,
            noise_multiplier=own.noise_multiplier,
            source=(stream.description, stream.reproducible),
            enforced=(*enforced, *own.enforced),
            public=tuple(dict.fromkeys((size, "all parameters", self._split_fact(plan), *trusted,
                                        *public))),
            released=released,
            arithmetic="float" if own.arithmetic == "float" else "snapped").verify()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inner = get_tags(self.estimator)
        except (TypeError, ValueError, AttributeError):
            # `fit` refuses anything that is not an estimator.
            return tags
        for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags",
                     "input_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.non_deterministic = not isinstance(self.random_state, NoiseSeed)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_")

    @property
    def _inner(self):
        if hasattr(self, "privacy_") and not hasattr(self, self._chosen):
            # The given estimator may hold a fit to other rows.
            raise AttributeError("refit=False: no model is kept; leave refit=True, or fit a model "
                                 "with best_params_.")
        return getattr(self, self._chosen, self.estimator)

    def _delegated(self, method, X):
        check_is_fitted(self)
        return getattr(self._inner, method)(X)

    @property
    def classes_(self) -> AnyArray:
        """ndarray of shape (n_classes,) : the classes of the model."""
        return self._attribute("classes_")

    @property
    def n_features_in_(self) -> int:
        """int : the number of features that the model has seen."""
        return self._attribute("n_features_in_")

    @property
    def feature_names_in_(self) -> AnyArray:
        """ndarray of str : the names of the features that the model has seen."""
        return self._attribute("feature_names_in_")

    def _attribute(self, name):
        if not hasattr(self, self._chosen):
            raise AttributeError(f"{type(self).__name__} is not fitted, and has no {name}")
        return getattr(self._inner, name)


def trained(model, plan, admission, part, answers=None):
    """Train a model; raise RuntimeError if it costs more than the plan allows.

    The admission pays for one fit of the model, and for no other fit that its code makes.
    `answers` records the mechanism outputs of the fit, or replays recorded ones.
    """
    # Worker processes and threads do not know otherwise.
    note_charge()
    # No callbacks: the number of runs, and which of them lost, is secret.
    model, prepaid = without_callbacks(model), admission.pays_for(plan.covers, answers)
    with paid_for(model, prepaid):
        certificate = model.fit(part.X, part.y, **part.told).privacy_
    relation = GROUP_RELATION if plan.grouped else Certificate.relation
    if not (certificate.relation == relation and plan.covers(certificate.event)):
        raise RuntimeError(f"A run of {type(model).__name__} costs more than its budget, or its "
                           f"guarantee is not for {'groups' if plan.grouped else 'single rows'}; "
                           "nothing of it was shown.")
    return model


def _check_tables(models, X, y):
    """Raise the errors of models about rows; they are fitted to none."""
    # Candidates with other steps, or another model, may accept other rows.
    kinds = {f"{model.steps[:-1] if hasattr(model, 'steps') else ''} "
             f"{type(last_step(model))}": model for model in models}
    for model in kinds.values():
        without_warnings(clone(model)._check_table, X, y)


def last_step(estimator):
    """Return the final predictor inside any searches and pipelines."""
    while hasattr(estimator, "steps") or isinstance(estimator, HoldoutModel):
        estimator = (estimator.steps[-1][1] if hasattr(estimator, "steps")
                     else estimator.estimator)
    return estimator


def _has_price(estimator):
    """Return whether an estimator states the privacy cost of a fit."""
    return isinstance(estimator, Budgeted)


def _key_rows(random_state, *tables):
    """Return one row that keys the noise: a digest of all rows, or zeros.

    Only the noise of a `NoiseSeed`, which repeats, depends on the rows.
    """
    digest = np.zeros(32)
    if isinstance(random_state, NoiseSeed):
        text = joblib.hash(tuple(part for table in tables for part in _plain(table))).encode()
        digest = np.frombuffer(hashlib.sha256(text).digest(), dtype=np.uint8).astype(np.float64)
    return Rows(digest[None], np.zeros(1))


def _plain(table):
    """Return the content of a table; equal content keys equal noise.

    Column names and dtypes are included, because parameters may refer to columns by them.
    """
    plain = table.X if hasattr(table.X, "tocsr") else np.ascontiguousarray(table.X)
    told = tuple(np.ascontiguousarray(each) for each in table.told.values())
    # Hashed one by one, because joblib.hash depends on which objects are identical.
    named = [joblib.hash(part) for each in ("columns", "dtypes")
             for part in getattr(table.X, each, ())]
    return plain, np.ascontiguousarray(table.y), *told, *named
