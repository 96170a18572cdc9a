"""What `solver="auto"` takes beside every other solver, on the cells of the other tables here.

    python benchmarks/paper/auto_choice.py [--seeds 20] [--output docs/results/auto_choice.md]

Cells are those of output_perturbation_table.py, covertype_svrg.py and high_dimension.py, and
those of auto_squares.py by R2; every solver has its defaults. A solver whose first fits are far
worse than what "auto" takes gets no more of them.
"""

import argparse
import sys
import warnings
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dpsk import DPLogisticRegression
from dpsk._solvers import SOLVERS
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parent))
import auto_squares
import covertype_svrg
import high_dimension
import output_perturbation_table as table
from measuring import put_page

#: Fits after which a solver is given up, and the multiple of the risk of "auto" beyond which.
FIRST, HOPELESS = 3, 3.0


@dataclass(frozen=True)
class Cell:
    """One problem at one budget.

    Parameters
    ----------
    name : str
    excess : callable
        From the name of a solver and a seed to the excess risk and the solver that was taken.
    """

    name: str
    excess: callable


def table_cells():
    for name in table.RIDGES:
        for case in table.cases(name):
            least = case.least()
            for epsilon in table.EPSILONS:
                def excess(solver, seed, case=case, least=least, epsilon=epsilon):
                    model = case.estimator(epsilon, seed, solver=solver).fit(case.X, case.y)
                    return table.excess(case, model, least), model.privacy_.solver

                yield Cell(f"{name}, {case.kind}, mu {case.ridge:g}, epsilon {epsilon:g}", excess)


def covertype_cells():
    rows = covertype_svrg.load_table(full=False)
    for alpha in covertype_svrg.PROBLEMS:
        rows.solve(alpha)
        for epsilon in covertype_svrg.EPSILONS:
            def excess(solver, seed, alpha=alpha, epsilon=epsilon):
                model = DPLogisticRegression(
                    epsilon, delta=covertype_svrg.DELTA, alpha=alpha, fit_intercept=False,
                    data_norm=1.0, solver=solver, random_state=NoiseSeed(seed),
                ).fit(rows.X, rows.y)
                # Scores of whitened rows are no linear function of the rows.
                z = model.decision_function(rows.X)
                value = np.mean(np.logaddexp(0.0, z) - rows.y * z)
                value += 0.5 * alpha * np.square(model.coef_).sum()
                return float(value - rows.least[alpha]), model.privacy_.solver

            yield Cell(f"covertype, mu {alpha:g}, epsilon {epsilon:g}", excess)


def high_dimension_cells():
    for design in high_dimension.DESIGNS:
        for p in (100, 1000, 10**4, 10**5):
            if p <= 2 * design.entries:
                continue
            X, y = design.rows(p)
            least = high_dimension.least_risk(X, y, design.radius)

            def excess(solver, seed, X=X, y=y, least=least, design=design):
                model = DPLogisticRegression(
                    1.0, penalty="l1_ball", radius=design.radius, data_norm_inf=design.size,
                    solver=solver, fit_intercept=False, random_state=NoiseSeed(seed)).fit(X, y)
                value = high_dimension.risk(X, y, model.coef_.ravel())
                return value - least, model.privacy_.solver

            yield Cell(f"l1 ball, {design.entries} entries, p = {p}", excess)


CELLS = {"table": table_cells, "covertype": covertype_cells, "dimension": high_dimension_cells}


def measured(cell, seeds):
    """Return the excess risks by solver, and the name that "auto" stands for."""
    answers = [cell.excess("auto", seed) for seed in range(seeds)]
    taken = answers[0][1]
    risks = {taken: np.array([risk for risk, _ in answers])}
    limit = HOPELESS * max(risks[taken].mean(), 0.0) + 4.0 * error(risks[taken])
    for solver in SOLVERS:
        if solver == taken:
            continue
        values = []
        for seed in range(seeds):
            try:
                values.append(cell.excess(solver, seed)[0])
            except ValueError:
                break  # the solver does not take this problem
            if len(values) == FIRST and np.mean(values) > limit:
                break
        if values:
            risks[solver] = np.array(values)
    return risks, taken


def error(values):
    return values.std(ddof=1) / np.sqrt(len(values))


def regret(risks, taken):
    """Return the best solver, the ratio to it, and whether the two are tied."""
    best = min(risks, key=lambda name: risks[name].mean())
    ours, least = risks[taken], risks[best]
    tied = ours.mean() - least.mean() <= 2.0 * np.hypot(error(ours), error(least))
    if best == taken or tied:
        return best, 1.0, best != taken
    if ours.mean() <= 0:
        return best, 1.0, False  # both are below the minimum of linear scores
    return best, float(ours.mean() / least.mean() if least.mean() > 0 else np.inf), False


def row(cell, risks, taken):
    """Return the line of a cell, and its ratio."""
    best, ratio, tied = regret(risks, taken)
    others = sorted((name for name in risks if name != taken), key=lambda n: risks[n].mean())
    shown = ", ".join(f"{name} {risks[name].mean():.1e}" for name in others[:3])
    verdict = "tie" if tied else f"{ratio:.2f}"
    return (f"| {cell.name} | {taken} | {risks[taken].mean():.2e} ± {error(risks[taken]):.0e} | "
            f"{best} | {risks[best].mean():.2e} ± {error(risks[best]):.0e} | {verdict} | {shown} |"
            ), ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--cells", nargs="+", default=list(CELLS), choices=list(CELLS))
    parser.add_argument("--only", default="", help="cells whose name holds this text")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines, ratios = [], []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in options.cells:
            for cell in CELLS[kind]():
                if options.only not in cell.name:
                    continue
                line, ratio = row(cell, *measured(cell, options.seeds))
                print(line, flush=True)
                lines.append(line)
                ratios.append(ratio)
        squares = auto_squares.section(max(2, options.seeds // 2))
    ratios = np.array(ratios)
    page = [
        "# The solver that `solver=\"auto\"` chooses, against all others", "",
        f"Excess risk, mean ± standard error of {options.seeds} fits, every solver at its "
        f"defaults, {date.today()}. A solver runs in full if its first {FIRST} fits are at most "
        f"{HOPELESS:g} times as bad as the best; the three best of the others are shown. "
        "Differences under two standard errors are ties. With whitened rows the risk is that of "
        "predictions and may be below the minimum, where the ratio is 1.",
        "",
        f"Ratio at most 1.5: {np.mean(ratios <= 1.5):.0%} of {len(ratios)} cells (goal: 90 %). "
        f"Largest: {ratios.max():.2f} (goal: 3).", "",
        "| cell | auto | its risk | best | its risk | ratio | others |", "|" + "---|" * 7,
        *lines, *squares]
    print("\n".join(page))
    if options.output:
        put_page(options.output, "\n".join(page) + "\n")


if __name__ == "__main__":
    main()
