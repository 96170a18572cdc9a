"""The plan of a linear fit: its solver, and the stages that map its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dpsk._models import ShortRows, about_center
from dpsk._objective.penalties import ConstraintSet
from dpsk._stages import ColumnScaling, NoFeatures, NormBound, RowCentering, Standardizing
from dpsk._stages.weight_bound import weighed

if TYPE_CHECKING:
    from dpsk._data.source import RowSource
    from dpsk._problem import Problem

__all__ = ["Kept", "LinearPlan", "is_penalized"]


class Kept(NamedTuple):
    """Values of the attributes that say how rows were mapped; None where they were not."""

    preconditioner: Any
    center: Any
    feature_scales: Any
    row_map: Any


@dataclass(frozen=True, eq=False)
class LinearPlan:
    """How a linear estimator fits, decided from public facts alone.

    Parameters
    ----------
    facts, problem : Problem
        Of the rows as they are, and of mapped rows as far as it is known before the fit.
    name : str
        Name of the solver.
    solver : Solver
    stage : RowStage or None
        What maps the rows last, with the bound on their norms as their unit.
    weighing : list of Stage
        The bound on weights, if one is learned.
    lowered : list of Enforced
        The bound on weights, if the solver needs one and none is learned.
    scaling, center, bound : list of Stage
        The stages before `stage`, none or one each.
    unknown : bool
        Whether the bound on norms is neither declared nor derived nor learned.
    """

    facts: Problem
    problem: Problem
    name: str
    solver: Any
    stage: Any
    weighing: list[Any]
    lowered: list[Any]
    scaling: list[Any]
    center: list[Any]
    bound: list[Any]
    unknown: bool

    @classmethod
    def of(cls, fit: Any, facts: Problem, rows: RowSource, target_stages: Any, *,
           free_weights: bool, confined: bool) -> LinearPlan:
        """Return the plan of an estimator's `fit`, whose set is `confined` to after the solver.

        Of the rows, only public facts are read, such as their number and whether they are sparse.
        """
        model, name = facts.model, fit._solver_name(facts)
        solver = fit._build_solver(name)
        learns = fit._learns_norm(facts, solver, rows, target_stages)
        facts, weighing, lowered = weighed(facts, free_weights, solver.lowers_weights)
        stage = fit._row_stage(rows.dtype, facts, solver)
        unknown = not (learns or fit._norm_is_known(facts))
        if fit._needs_length(rows) if unknown else (
                stage is None and fit._carries_no_slope(facts)):
            learns, stage = False, NoFeatures(model, rows.dtype)
            name = fit._solver_of_constant(name, facts, rows)
            solver = fit._build_solver(name)
        problem = facts if stage is None else stage.prepared(facts)
        maps = learns and not fit._of_shares
        # Only a stage that maps the rows keeps a penalty on the coefficients of the original ones.
        apart = confined or isinstance(facts.penalty, ConstraintSet) or (
            is_penalized(facts) and (stage is None or not solver.takes_unit))
        rounds = RowCentering.stages(problem, rows) if maps and fit.fit_intercept else []
        exact = [Standardizing()] if fit._standardizes(problem, rows) else []
        return cls(facts, problem, name, solver, stage, weighing, lowered,
                   ColumnScaling.stages(problem, rows, stage) if maps and not apart else [],
                   [*rounds, *exact],
                   [NormBound(model, stage, *(each.warn_if_far for each in rounds))]
                   if learns else [], unknown)

    @property
    def learns(self) -> bool:
        """bool : whether the bound on norms is learned."""
        return bool(self.bound)

    @property
    def words(self) -> str:
        """str : what the certificate adds to the bound on norms."""
        return "" if self.stage is None else self.stage.words

    def stages(self, target_stages: Any) -> list[Any]:
        """Return the stages before the solver, in order, with those of the targets."""
        last = [] if self.stage is None else [self.stage]
        return [*self.weighing, *self.scaling, *self.center, *self.bound, *target_stages, *last]

    def kept(self, fit: Any, dtype: Any) -> Kept:
        """Return what an estimator keeps of the maps of its rows; `data_norm_` is set."""
        model, stage = self.facts.model, self.stage
        scales = self.scaling[0].value if self.scaling else None
        center = self.center[0].value if self.center else None
        matrix = None if stage is None else stage.value
        if self.learns and stage is not None:
            matrix = self.bound[0].undo(model, matrix)
            for scaling in self.scaling:
                matrix = scaling.undo(model, matrix)
            matrix = matrix.astype(dtype)
        row_map = None if stage is None else stage.row_map
        if self.unknown and row_map is None and not isinstance(stage, NoFeatures):
            row_map = ShortRows(model, whitened=stage is not None)
        elif self.learns and row_map is None and fit._reach:
            longest = fit._reach * fit.data_norm_
            row_map = ShortRows(replace(model, data_norm=longest), whitened=False)
        # Prediction centers rows after it has scaled them, as training does.
        row_map = about_center(row_map, center, scales)
        if center is not None and scales is not None:
            center = (center * scales).astype(dtype)
        return Kept(matrix, center, scales, row_map)


def is_penalized(problem: Problem) -> bool:
    """Return whether a problem has a penalty, smooth or not."""
    return problem.penalty.smoothness > 0 or not problem.penalty.is_smooth
