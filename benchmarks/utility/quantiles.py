"""Bounds learnt under noise: where they fall, and what a fit with them is worth.

    python -m benchmarks.utility.quantiles [--seeds 5] [--draws 400] [--output FILE]

Bounds are drawn by the mechanism that fits release; the fits have what it leaves of the budget.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.datasets import load
from benchmarks.measuring import put_page
from dpsk import DPLinearRegression, DPLogisticRegression
from dpsk._data.norms import row_norms
from dpsk._data.source import Rows
from dpsk._defaults.budgets import QUANTILE_SHARES
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import Squared
from dpsk._objective.penalties import ElasticNet
from dpsk._privacy.closed_forms import gaussian_epsilon
from dpsk._privacy.events import Composed, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._problem import Problem
from dpsk._stages import NormBound, TargetBounds
from dpsk._stages.bounds import norm_rule, target_rule, widened
from dpsk.testing import NoiseSeed

EPSILONS = (0.1, 0.5, 1.0, 2.0)
CLASSIFIED = ("adult", "bank", "covtype_binary")
REGRESSED = ("adult_hours", "bike", "wine")
#: Tails of exact quantiles.
NORM_SHOWN, TARGETS_SHOWN = (0.0, 0.01, 0.05, 0.2, 0.5), (0.015, 0.03, 0.06, 0.1, 0.15, 0.25)
HEADER = """# Learned bounds on features and targets

Command: `python -m benchmarks.utility.quantiles`. Training parts, delta 1/n^2, {usual:g} of mu^2 a
quantile, up to {largest:g} where rows are few. Accuracy or R2 on the test part, mean of {seeds}
seeds, with the learned bound, and with the largest norm or the extreme targets declared. "Tail" is
the public share of samples beyond the quantile. Bounds: median [least, largest] of {draws} draws.
Fits on learned targets also have a learned bound on norms.
"""


def facts(rows, epsilon, of_scores=False):
    """Return the public facts that stages ask for, of a regression or of scores."""
    model = LinearModel(rows.n_features, None, True, 1.0, homogeneous=of_scores)
    return Problem(len(rows), model, Squared(), ElasticNet(0.0, 0.0), epsilon,
                   1.0 / len(rows) ** 2)


def drawn(stage, rows, problem, draws):
    """Return independent draws of what a stage releases."""
    event, values = stage.event(problem), []
    for _ in range(draws):
        stage.release(problem, rows, Session(EntropyStream(), Ledger(Composed((event,)))))
        values.append(stage.value)
    return np.array(values)


def left(problem, *stages):
    """Return the epsilon that is left of a budget after some stages."""
    spent = sum(event.mu**2 * count for stage in stages
                for event, count in tally(stage.event(problem)).items())
    return gaussian_epsilon(np.sqrt(problem.mu**2 - spent), problem.delta)


def tail_of(rule, *facts):
    """Return the tail of a rule, or None where it refuses."""
    try:
        return rule(*facts)[1]
    except ValueError:
        return None


def norm_lines(name, draws, seeds):
    """Yield lines of the table of bounds on norms of one set."""
    X, X_test, y, y_test = load(name)
    regressed, norms = name in REGRESSED, row_norms(X)
    cls = DPLinearRegression if regressed else DPLogisticRegression
    more = {"target_bounds": (float(y.min()), float(y.max()))} if regressed else {}
    truth = " / ".join(f"{value:.3g}" for value in np.quantile(norms, [0.5, 0.95, 1.0]))

    def worth(epsilon, bound, seed):
        model = cls(epsilon, delta=1.0 / len(X) ** 2, data_norm=bound,
                    random_state=NoiseSeed(seed), **more)
        return model.fit(X, y).score(X_test, y_test)

    for epsilon in EPSILONS:
        problem = facts(Rows(X, y), epsilon, not regressed)
        tail, line = tail_of(norm_rule, problem, problem.model), "refused | | |"
        declared = np.mean([worth(epsilon, norms.max(), seed) for seed in range(seeds)])
        if tail is not None:
            stage = NormBound(problem.model)
            bounds = drawn(stage, Rows(X, y), problem, draws)
            learnt = np.mean([worth(left(problem, stage), bounds[seed], seed)
                              for seed in range(seeds)])
            line = (f"{tail:.3f} | {np.median(bounds):.3g} [{bounds.min():.3g}, "
                    f"{bounds.max():.3g}] | {learnt:.4f} |")
        yield f"| {name} | {len(X)} | {truth} | {epsilon:g} | {line} {declared:.4f} |"


def target_lines(name, draws, seeds):
    """Yield lines of the table of bounds on targets of one set."""
    X, X_test, y, y_test = load(name)
    norms = row_norms(X)
    truth = " / ".join(f"{value:.3g}" for value in np.quantile(y, [0.0, 0.015, 0.985, 1.0]))

    def worth(epsilon, bound, ends, seed):
        model = DPLinearRegression(epsilon, delta=1.0 / len(X) ** 2, data_norm=bound,
                                   target_bounds=tuple(ends), random_state=NoiseSeed(seed))
        return model.fit(X, y).score(X_test, y_test)

    for epsilon in EPSILONS:
        problem = facts(Rows(X, y), epsilon)
        tail, line = tail_of(target_rule, problem), "refused | | |"
        declared = np.mean([worth(epsilon, norms.max(), (y.min(), y.max()), seed)
                            for seed in range(seeds)])
        if tail is not None:
            stages = TargetBounds(lambda y, low, high: y, np.float64), NormBound(problem.model)
            ends = drawn(stages[0], Rows(X, y), problem, draws)
            bounds = drawn(stages[1], Rows(X, y), problem, seeds)
            learnt = np.mean([worth(left(problem, *stages), bounds[seed], ends[seed], seed)
                              for seed in range(seeds)])
            words = ", ".join(f"{np.median(end):.3g} [{end.min():.3g}, {end.max():.3g}]"
                              for end in ends.T)
            line = f"{tail:.3f} | {words} | {learnt:.4f} |"
        yield f"| {name} | {len(X)} | {truth} | {epsilon:g} | {line} {declared:.4f} |"


def exact_norm_lines(name, draws, seeds):
    """Yield lines of what fits are worth whose bound is an exact quantile of norms, no price."""
    X, X_test, y, y_test = load(name)
    y, y_test = y > np.median(y), y_test > np.median(y)
    norms = row_norms(X)
    bounds = [*np.quantile(norms, [1.0 - tail for tail in NORM_SHOWN]),
              *(factor * norms.max() for factor in (3.0, 10.0))]
    for epsilon in (0.1, 0.5, 2.0):
        found = [np.mean([DPLogisticRegression(epsilon, data_norm=bound,
                                               random_state=NoiseSeed(seed))
                          .fit(X, y).score(X_test, y_test) for seed in range(seeds)])
                 for bound in bounds]
        yield f"| {name} | {epsilon:g} | " + " | ".join(f"{one:.3f}" for one in found) + " |"


def exact_target_lines(name, draws, seeds):
    """Yield lines of what fits are worth whose ends are exact quantiles of targets, no price."""
    X, X_test, y, y_test = load(name)
    bound = np.quantile(row_norms(X), 0.95)
    for epsilon in (0.5, 2.0):
        for words, ends_of in (("as they are", lambda low, high, tail: (low, high)),
                               ("widened", widened)):
            found = []
            for tail in TARGETS_SHOWN:
                ends = ends_of(*np.quantile(y, [tail, 1.0 - tail]), tail)
                found.append(np.mean([
                    DPLinearRegression(epsilon, target_bounds=ends, data_norm=bound,
                                       random_state=NoiseSeed(seed))
                    .fit(X, y).score(X_test, y_test) for seed in range(seeds)]))
            cells = " | ".join(f"{one:.3f}" for one in found)
            yield f"| {name} | {epsilon:g} | {words} | {cells} |"


def main():
    """Print the tables, or write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    lines = [HEADER.format(usual=QUANTILE_SHARES[0], largest=QUANTILE_SHARES[1],
                           draws=given.draws, seeds=given.seeds)]
    learnt = "epsilon | tail | bound | learnt | declared"
    norm_heads = " | ".join(f"tail {tail:g}" for tail in NORM_SHOWN)
    target_heads = " | ".join(f"tail {tail:g}" for tail in TARGETS_SHOWN)
    tables = {
        "Norms of rows": (f"set | n | norm .5 / .95 / 1 | {learnt}", norm_lines,
                          (*CLASSIFIED, *REGRESSED[1:])),
        "Targets": (f"set | n | target 0 / .015 / .985 / 1 | {learnt}", target_lines, REGRESSED),
        "Accuracy where the bound is an exact quantile of norms, or multiples of the largest": (
            f"set | epsilon | {norm_heads} | 3 x | 10 x", exact_norm_lines,
            ("adult", "covtype_binary", "wine")),
        "R^2 where the ends are exact quantiles of targets, as they are and widened": (
            f"set | epsilon | ends | {target_heads}", exact_target_lines, REGRESSED)}
    for title, (heads, table, names) in tables.items():
        lines += [f"## {title}", "", f"| {heads} |", "|" + "---|" * (heads.count("|") + 1)]
        for name in names:
            for line in table(name, given.draws, given.seeds):
                print(line, flush=True)
                lines.append(line)
        lines.append("")
    if given.output:
        put_page(given.output, "\n".join(lines))


if __name__ == "__main__":
    main()
