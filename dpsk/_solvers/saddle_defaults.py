"""Defaults of the saddle solvers: functions of public facts."""

from dataclasses import replace

__all__ = ["configured_saddle"]


def configured_saddle(solver, problem):
    """Return `solver` with every None filled.

    Steps are given per unit of clip norm, since on a network nearly every row is clipped.
    """
    n_samples = problem.n_samples
    clip_norm = 1.0 if solver.clip_norm is None else solver.clip_norm
    batch_size = min(n_samples, solver.batch_size or 2048)
    return replace(
        solver, clip_norm=clip_norm, batch_size=batch_size,
        dual_clip_norm=1.0 if solver.dual_clip_norm is None else solver.dual_clip_norm,
        learning_rate=solver.learning_rate or 4.0 / clip_norm,
        dual_learning_rate=solver.dual_learning_rate or 0.1,
        max_iter=solver.max_iter or 400)
