"""Pipelines whose private steps share one budget."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import _safe_indexing

from dpsk._budgeted import asked
from dpsk._callbacks import private_fit
from dpsk._data.groups import groups_of
from dpsk._data.validation import check_in_memory, count_rows
from dpsk._docs import documented
from dpsk._fit import Method
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS, optional
from dpsk._problem import Budget
from dpsk._steps import LAST_CHANCE, Steps
from dpsk._whole import state_as_whole
from dpsk.pipeline._checks import (
    check_fit,
    check_parameters,
    check_prices,
    check_shares,
    is_seeded,
    public_facts,
    routed,
)
from dpsk.pipeline._composition import Composition
from dpsk.pipeline._known import NOTHING, configured, is_private, learns_nothing, stand_in
from dpsk.pipeline._parts import every_part, fit_parts, has_parts, rows_of_parts, trusted_facts
from dpsk.pipeline._rows import mapped, settled, transformed
from dpsk.pipeline._tables import check_tables

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["DPPipeline", "make_dp_pipeline"]

#: Largest share of mu^2 that several steps and parts take together by default.
_MOST_BY_RULE = 0.5


@documented
class DPPipeline(Composition):
    """Sequence of steps whose private steps share one privacy budget.

    A step is private if it has parameters `epsilon` and `delta` and leaves a certificate. It is
    fitted at its share of the budget, whatever its own `epsilon` and `delta` are. Other steps must
    learn nothing from rows, or be fitted to public data and passed as scikit-learn's
    ``FrozenEstimator``. Any other step is refused before anything is fitted. The same holds for
    the parts of a ``ColumnTransformer`` and of a ``FeatureUnion``, which are named ``step__part``;
    a remainder is named ``step__remainder``.

    Parameters
    ----------
    steps : list of (str, estimator)
        Names and steps. They are cloned, not changed.
    %(epsilon)s %(delta_gaussian)s
    shares : dict or None, default=None
        Shares of mu^2 by names of private steps, such as ``{"columns__age": 0.2}`` for a part.
        Other transformers of this package, parts included, take a default share; several are
        scaled down to at most half together. The last private step takes the rest. Default shares
        need known columns: these are known after scalers and imputers, but not after a
        `DPTableVectorizer` or parts.
    random_state : int, NoiseSeed or None, default=None
        Passed to every private step; None: each keeps its own. A `dpsk.testing.NoiseSeed` repeats
        the noise, for tests: not private for anyone who knows the seed.
    verbose : int or bool, default=0
        1 is passed to every private step, which then prints its plan.

    Attributes
    ----------
    steps_ : list of (str, estimator)
        The fitted steps.
    named_steps_ : Bunch
        The same, by name. Steps are found by ``pipeline["name"]`` and ``pipeline[0]`` as well, and
        ``pipeline[:-1]`` is a pipeline of all but the last.
    classes_ : ndarray of shape (n_classes,)
        Classes of the last step, if it is a classifier.
    %(n_features_in_)s %(feature_names_in_)s
    privacy_ : Certificate
        The guarantee of all steps together, and its assumptions. Every step states it too.
    step_certificates_ : dict of str to Certificate
        The privacy cost of each private step by itself, at its share.

    Raises
    ------
    ValueError
        For a parameter out of range, a step that learns from rows without a guarantee, a private
        step whose share is unknown, or targets or missing values that a step would refuse; always
        before any noise is drawn. After a private step, numbers are cut to what the next step
        takes, and other cells count as missing, or as 0 where numbers are needed. A function
        there is tried on zeros first; its other errors come after the charge.

    See Also
    --------
    make_dp_pipeline : Names steps after their classes.
    sklearn.pipeline.Pipeline : Each private step with a budget of its own.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes of all steps together are (epsilon, delta)-differentially private. Released: the
    outputs of each private step. The input of a step may depend on earlier outputs, but its
    privacy cost does not: shares are fixed before the first step. Squares of mu add up. A last
    step that is not Gaussian, such as a network by "sgd", is covered by a mu plus a failure
    probability of a hundredth of delta, or has a fixed (epsilon', delta') if no mu covers it.
    The certificate states two unverified assumptions. All steps map every row by itself, functions
    of a ``FunctionTransformer`` included. A ``FrozenEstimator``, private or not, was fitted to
    other rows, because its privacy cost is not counted. scikit-learn's searches, ensembles and
    calibrators around a private model are refused as steps, because they fit it several times.
    Parts of one step compose as steps do, even on separate columns, because each sees something of
    every row. Their outputs are concatenated, and are dense after a ``ColumnTransformer``. Squares
    of their bounds on rows add up, if all are known. A bound on rows that is known by construction
    becomes the `data_norm` of the next step, if that is "auto".

    The number of rows, all parameters and the public facts of each step are public.

    References
    ----------
    Dong, Roth, Su (2022), Corollary 2, for Gaussian steps; Kairouz, Oh, Viswanath (2015), for one
    that none covers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression, DPPipeline, DPTableVectorizer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = DPPipeline([("table", DPTableVectorizer()), ("linear", DPLogisticRegression())],
    ...                    epsilon=4.0).fit(X[["mean radius", "mean texture"]], y)
    >>> model.privacy_.delta_at(4.0) <= model.privacy_.delta
    True
    >>> model.named_steps_.linear.data_norm_ == model.named_steps_.table.row_norm_
    True
    """

    _constraints: ClassVar[dict] = {
        **{name: PARAMETER_CONSTRAINTS[name] for name in ("epsilon", "random_state", "verbose")},
        "delta": GAUSSIAN_DELTA,
        "shares": optional(lambda name, value: check_shares(name, value))}

    def __init__(self, steps: list[tuple[str, Any]], *, epsilon: float = 1.0,
                 delta: float | None = None, shares: dict[str, float] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.steps = steps
        self.epsilon = epsilon
        self.delta = delta
        self.shares = shares
        self.random_state = random_state
        self.verbose = verbose

    @private_fit
    def fit(self, X: Table, y: Table | None = None, groups: ArrayLike | None = None,
            **params: Any) -> Self:
        """Fit all steps under the declared budget.

        Parameters
        ----------
        X : table or array-like of shape (n, n_features)
            As the first step takes it.
        y : array-like of shape (n,) or None, default=None
            Labels or targets.
        groups : array-like of shape (n,) or None, default=None
            The group, such as the person, of each row, for user-level privacy of all steps.
        **params : dict
            `fit` parameters of private steps, as ``step__name`` or by metadata routing.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        private = self._check_steps()
        n_samples = count_rows("DPPipeline", X)
        members = groups_of(groups, n_samples, self.random_state)
        params = routed(self, params, private, members)
        if members is not None:
            check_in_memory("DPPipeline", "has groups of rows", X)
        # The number of columns is unknown before the first steps.
        units = n_samples if members is None else members.count
        delta = 1.0 / units**2 if self.delta is None else self.delta
        budget = Budget(units, 1, float(self.epsilon), float(delta), members is not None)
        steps = [(name, step if step in NOTHING else clone(step)) for name, step in self.steps]
        parts = dict(every_part(steps))
        check_fit(parts, private, params, y, n_samples)
        first = next(place for place, step in enumerate(steps)
                     if any(is_private(each) for _, each in every_part([step])))
        for _, step in steps[:first]:
            X = mapped(step, X, n_samples)
        check_tables(steps[first:], X, y)
        # Shares depend on the columns, and on the number of rows or groups.
        few = X if members is None else _safe_indexing(X, members.one_each(self.random_state))
        shares = self._fixed_shares(steps[first:], private, few, budget)
        releases, fitted = self._fit_steps(steps, first, parts, private, shares, budget, X, y,
                                           params)
        own = {name: step.privacy_ for name, step in fitted.items()}
        certificate = self._certificate(releases, own, members is not None)
        # A step's own certificate would not cover the outputs of other steps.
        state_as_whole(steps, certificate, self)
        self.steps_, self.privacy_, self.step_certificates_ = steps, certificate, own
        return self

    def _fit_steps(self, steps, first, parts, private, shares, budget, X, y, params):
        """Fit the steps from the first private one on, and replace them in `steps`.

        Returns
        -------
        releases : Steps
        fitted : dict
            The private steps and parts by name.
        """
        n_samples, chance = count_rows("DPPipeline", X), self._disclosed_share * budget.delta
        releases = Steps(Method.of(self, ""), budget, chance, random_state=self.random_state,
                         verbose=self.verbose, is_seeded=any(map(is_seeded, parts.values())),
                         public=public_facts(parts, private, y, n_samples, budget.grouped))
        last = private[-1]
        of_any_kind = shares.get(last, 0) > 0 and not asked(parts[last])._is_gaussian
        if last not in shares:
            releases.alone(trusted_facts(self.steps))
        # A step of share 0 releases nothing; its parameters are those of the whole budget.
        prices = {name: releases.budget(share) if share else (budget.epsilon, budget.delta)
                  for name, share in {last: 0, **shares}.items()}
        if of_any_kind:
            prices[last] = releases.last_price(shares[last])
        found = check_prices({name: (parts[name], prices[name]) for name in private}, y,
                             n_samples, budget.n_samples, params)
        if of_any_kind:
            releases.checked_last(shares[last], found.get(last))
        norm, fitted = None, {}

        def fit(name, step, X):
            make = partial(configured, step, norm, budget)
            targets, more = () if y is None else (y,), params.get(name, {})
            ends = name == last and (last not in shares or of_any_kind)
            fitted[name] = (releases.fit_last if ends else releases.fit)(
                shares.get(name, 0), make, X, *targets, **more)
            return fitted[name]

        for place, (name, step) in enumerate(steps[first:], first):
            X = settled(steps, place, X)
            if has_parts(step) or name in private:
                step = fit_parts(name, step, X, y, fit) if has_parts(step) else fit(name, step, X)
                steps[place] = name, step
                asked(step)._behind(getattr(steps[place - 1][1], "_code", None))
                X = X if place == len(steps) - 1 else transformed(step, X, n_samples)
            else:
                X = mapped(step, X, n_samples)
            if step not in NOTHING:
                norm = getattr(step, "row_norm_", None)
        return releases, fitted

    @property
    def _disclosed_share(self):
        """float : fraction of delta that steps may use as a probability of showing a row."""
        *others, last = [asked(step) for _, step in every_part(self.steps) if is_private(step)]
        return sum(step._disclosed_share for step in others) + (
            last._disclosed_share if last._is_gaussian else LAST_CHANCE)

    @property
    def _is_gaussian(self):
        """bool : whether all private steps are known to use Gaussian mechanisms only."""
        return all(asked(step)._is_gaussian for _, step in every_part(self.steps)
                   if is_private(step))

    def _check_params(self):
        self._check_steps()

    def _trusted_facts(self):
        return trusted_facts(self.steps)

    def _check_inside(self, y, n_samples, params):
        given = routed(self, params, private := self._check_steps(), None)
        check_fit(dict(every_part(self.steps)), private, given, y, n_samples)

    def _check_table(self, X, y):
        """Raise the errors of private steps about rows, before any fit."""
        n_samples = count_rows("DPPipeline", X)
        for place, step in enumerate(self.steps):
            if any(is_private(each) for _, each in every_part([step])):
                check_tables(self.steps[place:], X, y)
                return
            X = mapped(step[1] if step[1] in NOTHING else clone(step[1]), X, n_samples)

    def _check_steps(self):
        """Return the names of the private steps; refuse others that learn from rows."""
        for name, check in self._constraints.items():
            check(name, getattr(self, name))
        # scikit-learn checks names, and that all steps but the last are transformers.
        Pipeline(self.steps)._validate_steps()
        private = []
        for name, step in every_part(self.steps):
            if is_private(step):
                private.append(name)
            elif not learns_nothing(step):
                raise ValueError(
                    f"step {name!r}: {type(step).__name__} has no epsilon and delta, and may "
                    "learn from rows without a guarantee. Use a step that has them, such as "
                    "DPTableVectorizer, the steps of a nested Pipeline themselves, a Function"
                    "Transformer with public constants, or FrozenEstimator after a public fit.")
        for _, step in (*self.steps, *every_part(self.steps)):
            check_parameters(step)
        if not private:
            raise ValueError("steps: none of them is private, so there is nothing to spend "
                             "epsilon on; use a step with epsilon and delta, or scikit-learn's "
                             "Pipeline.")
        if self._disclosed_share > 1.0 - 1e-9:
            raise ValueError("steps: too many of them may show a category that a single row "
                             "brought, each at a share of delta, and nothing of delta is left; "
                             "use fewer steps that take tables.")
        unknown = sorted(set(self.shares or ()) - set(private), key=str)
        if unknown:
            raise ValueError(f"shares has {unknown[0]!r}, which is no private step; these are "
                             f"{', '.join(map(repr, private))}.")
        return private

    def _fixed_shares(self, steps, private, X, budget):
        """Return the shares of private steps.

        `steps` begin with the first private one, which takes X. The last private step takes the
        rest, or has no entry if no other step takes a share.
        """
        parts, rows = dict(every_part(steps)), rows_of_parts(*steps[0], X)
        shares, by_rule = dict(self.shares or {}), {}
        for name in private[:-1]:
            if name in shares:
                continue
            seen = rows[name] if name in rows else stand_in(steps, name, X)
            by_rule[name] = None if seen is None else asked(parts[name])._share(
                seen, (budget.epsilon, budget.delta))
            # A share of 0 is allowed: a step with no knots or categories to find releases nothing.
            if by_rule[name] is None:
                raise ValueError(f"shares: there is no rule for the share of step {name!r}; "
                                 f"give it one, such as shares={{{name!r}: 0.2}}.")
        if len(by_rule) > 1:
            less = min(1.0, _MOST_BY_RULE / max(sum(by_rule.values()), _MOST_BY_RULE))
            by_rule = {name: share * less for name, share in by_rule.items()}
        shares.update(by_rule)
        last, left = private[-1], 1.0 - sum(shares.values())
        if last in shares and not asked(parts[last])._is_gaussian:
            raise ValueError(f"shares has {last!r}, whose releases are not known to be Gaussian; "
                             "leave it out, as the last step takes what is left.")
        if left < -1e-12 or (last not in shares and left <= 0.0):
            raise ValueError(f"shares={self.shares!r}: nothing is left for step "
                             f"{(last if last not in self.shares else private[0])!r}, whose "
                             "share is not given; let them sum to less.")
        if last not in shares and any(shares.values()):
            shares[last] = left
        return shares

    def _certificate(self, releases, own, grouped):
        """Return the certificate of all steps, which names each of them."""
        size = "number of groups of rows, and not that of rows" if grouped else "number of rows"
        facts = [f"{name}: {fact}" for name, each in own.items() for fact in each.public]
        public = dict.fromkeys([size, "all parameters", *facts, *trusted_facts(self.steps)])
        return releases.certificate(
            "; ".join(f"{name}: {each.solver}" for name, each in own.items()), enforced=[],
            public=tuple(public), released=[f"{name}.{attribute}" for name, each in own.items()
                                     for attribute in each.released])


@documented
def make_dp_pipeline(*steps: Any, epsilon: float = 1.0, delta: float | None = None,
                     shares: dict[str, float] | None = None,
                     random_state: RandomState | None = None, verbose: int = 0) -> DPPipeline:
    """Return a `DPPipeline` of steps that are named after their classes.

    Parameters
    ----------
    *steps : estimators
        Steps, in order.
    %(epsilon)s %(delta_gaussian)s
    shares : dict or None, default=None
        Shares of mu^2, by names of private steps; see `DPPipeline`.
    random_state : int, NoiseSeed or None, default=None
        Passed to every private step; None: each keeps its own.
    verbose : int or bool, default=0
        1 prints the plans of private steps, which are public.

    Returns
    -------
    pipeline : DPPipeline
        Not fitted.

    Examples
    --------
    >>> from dpsk import DPRidge, DPTableVectorizer, make_dp_pipeline
    >>> [name for name, _ in make_dp_pipeline(DPTableVectorizer(), DPRidge()).steps]
    ['dptablevectorizer', 'dpridge']
    """
    return DPPipeline(make_pipeline(*steps).steps, epsilon=epsilon, delta=delta, shares=shares,
                      random_state=random_state, verbose=verbose)
