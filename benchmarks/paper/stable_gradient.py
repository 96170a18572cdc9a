"""What stable gradient descent is for: excess risk against n and T, and the generalization gap.

    python benchmarks/paper/stable_gradient.py --output docs/results/stable_gradient.md

Logistic regression with a ridge on rows of the unit sphere; the population is a large fresh
sample. "As printed" is Zhou, Chen, Banerjee (2018) with the settings of its Theorems 3 to 5:
its hold-out answers carry no noise, so it is **not private**, and it runs here in plain NumPy.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import expit

from dpsk import DPLogisticRegression

ALPHA, SMOOTHNESS = 0.05, 0.25
BETA = SMOOTHNESS + ALPHA
REPEATS = 6
STEP = 1.0 / (ALPHA + BETA)


def draw(rng, n, truth):
    X = rng.normal(size=(n, len(truth)))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, (rng.random(n) < expit(X @ truth)).astype(float)


def gradient(w, X, y, alpha):
    return X.T @ (expit(X @ w) - y) / len(y) + alpha * w


def risk(w, X, y, alpha):
    z = X @ w
    return np.mean(np.logaddexp(0.0, z) - y * z) + 0.5 * alpha * w @ w


def minimizer(X, y, alpha):
    w = np.zeros(X.shape[1])
    for _ in range(30):
        p = expit(X @ w)
        hessian = (X * (p * (1 - p))[:, None]).T @ X / len(y) + alpha * np.eye(len(w))
        w = w - np.linalg.solve(hessian, gradient(w, X, y, alpha))
    return w


def printed_stgd(rng, parts, sigma, steps, step, alpha, trace=lambda w: None, w=None):
    """The published algorithm; the un-noised hold-out answer makes it not private."""
    training, holdout = parts
    w = np.zeros(training[0].shape[1]) if w is None else w
    for _ in range(steps):
        a, h = gradient(w, *training, alpha), gradient(w, *holdout, alpha)
        limit = 3.0 * sigma + rng.laplace(scale=2.0 * sigma, size=w.shape)
        fires = np.abs(a - h) + rng.laplace(scale=4.0 * sigma, size=w.shape) > limit
        w = w - step * np.where(fires, a + rng.laplace(scale=sigma, size=w.shape), h)
        trace(w)
    return w


def halves(X, y):
    half = len(y) // 2
    return (X[:half], y[:half]), (X[half:], y[half:])


def minibatch_sgd(rng, X, y, size, steps, step, alpha, trace=lambda w: None):
    """One pass without replacement, then further passes."""
    w, order = np.zeros(X.shape[1]), np.empty(0, int)
    for _ in range(steps):
        if len(order) < size:
            order = rng.permutation(len(y))
        rows, order = order[:size], order[size:]
        w = w - step * gradient(w, X[rows], y[rows], alpha)
        trace(w)
    return w


def theorem_runs(rng, X, y, shrink):
    """Return coefficients by the settings of Theorems 3, 4 and 5 for smooth objectives."""
    n, d = len(y) // 2, X.shape[1]
    kappa, rho = BETA / ALPHA, np.log(n) + np.log(d)
    size = max(4, int(ALPHA * BETA * n / ((ALPHA + BETA)**2 * np.log(n))))
    spread = 2.0 * (ALPHA + BETA) / np.sqrt(ALPHA * BETA * n)
    found = {"mini-batch SGD": minibatch_sgd(rng, X, y, size, 2 * n // size, STEP, ALPHA)}
    steps = int(np.ceil((kappa + 1 / kappa + 2) * rho))
    found["StGD as printed"] = printed_stgd(rng, halves(X, y), spread * np.sqrt(rho), steps,
                                            STEP, ALPHA)
    found[f"StGD, printed noise / {shrink}"] = printed_stgd(
        rng, halves(X, y), spread * np.sqrt(rho) / shrink, steps, STEP, ALPHA)
    w, rounds = np.zeros(d), int(np.ceil(np.log(n)))
    for start in range(0, 2 * n - size + 1, size):
        part = slice(start, start + size)
        w = printed_stgd(rng, halves(X[part], y[part]), spread * np.log(n) / shrink, rounds, STEP,
                         ALPHA, w=w)
    found[f"mini-batch StGD, printed noise / {shrink}"] = w
    return found


def private(X, y, solver, epsilon, alpha, **params):
    options = {"accelerate": False, "iterate": "last"} if solver == "gd" else {"iterate": "last"}
    model = DPLogisticRegression(epsilon, alpha=alpha, solver=solver, fit_intercept=False,
                                 data_norm=1.0, precondition=False, clip_norm=np.inf,
                                 solver_options=options, **params)
    return model.fit(X, y.astype(int)).coef_.ravel()


def against_n(sizes, d=10, shrink=20):
    """Return {method: mean excess risk by n}."""
    rng = np.random.default_rng(0)
    truth = 4.0 * rng.normal(size=d)
    population = draw(rng, 200_000, truth)
    least = risk(minimizer(*population, ALPHA), *population, ALPHA)
    table = {}
    for i, n in enumerate(sizes):
        for repeat in range(REPEATS):
            X, y = draw(rng, 2 * n, truth)
            found = theorem_runs(rng, X, y, shrink)
            for solver, label in (("stgd", "`stgd`"), ("minibatch_stgd", "`minibatch_stgd`"),
                                  ("gd", "`gd`")):
                steps = {"max_iter": 40 if solver == "minibatch_stgd" else 30}
                found[f"dpsk {label}, epsilon 1, private"] = private(
                    X, y, solver, 1.0, ALPHA, learning_rate=STEP, **steps)
            for name, w in found.items():
                excess = risk(w, *population, ALPHA) - least
                table.setdefault(name, np.zeros((len(sizes), REPEATS)))[i, repeat] = excess
    return {name: values.mean(axis=1) for name, values in table.items()}


def against_t(marks, n=300, d=100, sigmas=(0.002, 0.02), step=8.0):
    """Return {method: (excess risk, generalization gap) by T}, without a ridge."""
    rng = np.random.default_rng(1)
    truth = 4.0 * rng.normal(size=d) / np.sqrt(d / 10)
    population = draw(rng, 100_000, truth)
    least = risk(minimizer(*population, 0.0), *population, 0.0)
    table = {}

    def note(name, mark, w, own):
        outside = risk(w, *population, 0.0)
        table.setdefault(name, {}).setdefault(mark, []).append(
            (outside - least, outside - risk(w, *own, 0.0)))

    for _ in range(REPEATS):
        X, y = draw(rng, 2 * n, truth)
        parts = halves(X, y)
        size = 2 * int(np.sqrt(n))
        longest = max(marks)
        paths = {
            "mini-batch SGD, all rows": (minibatch_sgd, (X, y, size, longest, step, 0.0), (X, y)),
            "gradient descent on the training half": (
                minibatch_sgd, (*parts[0], n, longest, step, 0.0), parts[0])}
        paths |= {f"StGD as printed, sigma {sigma:g}, not private": (
            printed_stgd, (parts, sigma, longest, step, 0.0), (X, y)) for sigma in sigmas}
        for name, (run, args, own) in paths.items():
            path = []
            run(rng, *args, path.append)
            for mark in marks:
                note(name, mark, path[mark - 1], own)
        for mark in marks:
            w = private(X, y, "stgd", 8.0, 0.0, learning_rate=step, max_iter=mark)
            note("dpsk `stgd`, epsilon 8, private", mark, w, (X, y))
    return {name: np.array([np.mean(values[mark], axis=0) for mark in marks])
            for name, values in table.items()}


def rows_of(names, columns, heads):
    lines = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    return lines + [f"| {name} | " + " | ".join(cells) + " |"
                    for name, cells in zip(names, columns, strict=True)]


def report(sizes, by_n, marks, by_t):
    slopes = {name: np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-12)), 1)[0]
              for name, values in by_n.items()}
    lines = rows_of(by_n, [[*(f"{v:.2g}" for v in values), f"{slopes[name]:.2f}"]
                           for name, values in by_n.items()],
                    [*(f"n = {n}" for n in sizes), "slope"])
    tables = ["\n".join(lines)]
    for column in (0, 1):
        lines = rows_of(by_t, [[f"{v:.3f}" for v in values[:, column]]
                               for values in by_t.values()], [f"T = {t}" for t in marks])
        tables.append("\n".join(lines))
    return tables


def picture(path, sizes, by_n, marks, by_t):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.6))
    for name, values in by_n.items():
        axes[0].loglog(sizes, values, "o-" if "dpsk" in name else "o--", label=name)
    axes[0].set(xlabel="n (2 n rows are given)", ylabel="excess risk")
    for column, label in ((0, "excess risk"), (1, "generalization gap")):
        for name, values in by_t.items():
            axes[1 + column].semilogx(marks, values[:, column], "o-" if "dpsk" in name else "o--",
                                      label=name)
        axes[1 + column].set(xlabel="steps T", ylabel=label)
    axes[1].set_ylim(0, 0.5)
    axes[2].set_ylim(-0.1, 0.5)
    for axis in axes[:2]:
        axis.legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    sizes, marks = [500, 2000, 8000, 32_000], [3, 10, 30, 100, 300]
    by_n, by_t = against_n(sizes), against_t(marks)
    tables = report(sizes, by_n, marks, by_t)
    if output is None:
        print("\n\n".join(tables))
        return
    picture(output.with_suffix(".png"), sizes, by_n, marks, by_t)
    text = output.read_text(encoding="utf-8").split("<!-- table -->")
    # Prose and tables alternate.
    parts = [text[0]]
    for table, prose in zip(tables, text[2::2], strict=True):
        parts += [f"\n{table}\n", prose]
    output.write_text("<!-- table -->".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
