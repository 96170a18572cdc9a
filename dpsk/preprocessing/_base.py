"""Base of transformers: private statistics, their certificate, and a map of each row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import FLOAT_DTYPES, _check_feature_names_in, check_is_fitted

from dpsk._callbacks import private_fit
from dpsk._data.errors import discreetly, quietly
from dpsk._data.groups import groups_of
from dpsk._data.source import Rows
from dpsk._docs import documented
from dpsk._estimator import DPEstimator
from dpsk._fit import certify, run_private, warn_of_weak_budget
from dpsk._output import check_output_container
from dpsk._privacy import accountant
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import Gaussian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._typing import AnyArray, Table

__all__ = ["DPTransformer"]


@documented
class DPTransformer(TransformerMixin, DPEstimator):
    """Base of transformers, which learn private statistics and map each row by them.

    Subclasses define how rows are read, the plan, the fitted attributes and the map.

    A plan is a `Share`: a mechanism that runs on ``(table, rows)``, and its default share of the
    mu^2 of a pipeline, 0 if it releases nothing. Outside a pipeline it has the whole budget.
    """

    _solvers: ClassVar[dict] = {}
    _auto_is_gaussian: ClassVar[bool] = True
    #: Budget (epsilon, delta) of the pipeline that contains this step; not a parameter.
    _whole: ClassVar[tuple | None] = None
    #: Assumed share of mu^2 of a transformer outside a pipeline.
    _usual_share: ClassVar[float] = 0.1
    #: Name of the learnt statistics on the certificate, and the attributes that hold them.
    _learnt: ClassVar[str] = "statistics"
    _learnt_names: ClassVar[tuple] = ()
    #: Public facts about the columns.
    _column_facts: ClassVar[str] = "number of rows and of columns, their names, and dtypes"

    def _read(self, X):
        """Return training rows as a `Table`; each cell is converted by itself."""
        raise NotImplementedError

    def _plan(self, table, whole):
        """Return the table for the mechanism and the plan, from public facts.

        `whole` is the (epsilon, delta) of the pipeline that contains this step.
        """
        raise NotImplementedError

    def _enforced(self, table):
        """Return the bounds that are enforced, from public facts of the table."""
        raise NotImplementedError

    def _keep(self, found):
        """Set the fitted attributes from what the mechanism returned."""
        raise NotImplementedError

    def _mapped(self, X):
        """Return new rows, each mapped by itself."""
        raise NotImplementedError

    def _names_out(self, names):
        """Return the names of output features, from the names of columns."""
        raise NotImplementedError

    def _check_table(self, X, y):
        self._read(X)

    def _own_plan(self, table, budget):
        """Return the table and the plan of a fit with its own budget."""
        return self._plan(table, self._whole or self._usual_whole(budget))

    @private_fit
    def fit(self, X: Table, y: Table | None = None, groups: ArrayLike | None = None) -> Self:
        """Learn private statistics of the columns, under the declared budget.

        Parameters
        ----------
        %(X_table)s
        y : None
            Ignored.
        %(groups_table)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        check_output_container(self)
        table = self._read(X)
        members = groups_of(groups, len(table.values), self.random_state)
        if members is not None:
            table = table.rows(members.one_each(self.random_state))
        budget = self._table_budget(table.values.shape, members)
        self._described = table.columns
        table, plan = self._own_plan(table, budget)
        rows = Rows(table.values, np.zeros(len(table.values)))
        facts = {"enforced": self._enforced(table), "released": list(self._learnt_names),
                 "public": self._table_facts(members, self._column_facts, "all parameters")}
        if plan.share:
            found, certificate = run_private(
                self._method(), self._learnt, budget, plan.mechanism, rows, (table, rows),
                random_state=self.random_state, verbose=self.verbose, **facts)
        else:
            warn_of_weak_budget(budget)
            found = plan.mechanism.run((table, rows), None, 0.0)
            certificate = certify(self._method(), f"declared {self._learnt}", budget, **facts)
        self._keep(found)
        self.privacy_ = certificate
        return self

    @quietly
    def transform(self, X: Table) -> AnyArray:
        """Map each row by itself, using the released statistics.

        Parameters
        ----------
        %(X_table)s

        Returns
        -------
        mapped : ndarray of shape (n, n_features_out)
            Or what `set_output` asks for.
        """
        check_is_fitted(self, "privacy_")
        return self._mapped(X)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> AnyArray:
        """Return the names of the output features.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns, if they had none in `fit`.

        Returns
        -------
        names : ndarray of str
            One per feature.
        """
        check_is_fitted(self, "privacy_")
        columns = _check_feature_names_in(self, input_features)
        return np.array(self._names_out(columns), dtype=object)

    def _as_mapped(self, X, width, finite="allow-nan"):
        """Check rows that `transform` returned; return a float array of `width` columns."""
        values = discreetly("X", check_array, X, dtype=FLOAT_DTYPES, copy=True,
                            ensure_all_finite=finite, estimator=self)
        if values.shape[1] != width:
            raise ValueError(f"X has {values.shape[1]} features, but {type(self).__name__} makes "
                             f"{width}; give what transform returned.")
        return values

    def _share(self, X, whole):
        """Return the default share of mu^2 in a pipeline of (epsilon, delta) `whole`."""
        self._check_params()
        return self._plan(self._read(X), whole)[1].share

    def _within(self, whole):
        self._whole = whole

    def _method(self):
        """Return the method, with the columns: others must not get the same noise."""
        return super()._method().with_columns(self._described)

    def _usual_whole(self, budget):
        """Return the (epsilon, delta) of a pipeline in which `budget` is the usual share."""
        if not budget.is_private:
            return budget.epsilon, budget.delta
        mu = gaussian_mu(budget.epsilon, budget.delta) / math.sqrt(self._usual_share)
        # With a large delta, any small epsilon allows that mu.
        return max(accountant.epsilon(Gaussian(mu), budget.delta), budget.epsilon), budget.delta
