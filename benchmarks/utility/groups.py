"""Worst-group accuracy and risk on Adult: DPGroupDROClassifier beside DPLogisticRegression.

    python -m benchmarks.utility.groups [--seeds 10] [--output docs/results/fairness.md]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.datasets import _adult_frame, load
from benchmarks.measuring import put_page
from dpsk import DPGroupDROClassifier, DPLogisticRegression
from dpsk.testing import NoiseSeed

EPSILON = 1.0
#: Strengths of the term that keeps weights near uniform, from the worst group to the mean of all.
PENALTIES = (0.01, 0.1, 1.0, 3.0)
HEADER = """# Fairness: group DRO on Adult

"Worst" is the group of least accuracy, or of greatest mean logistic loss, on the test set.

- Command: `python -m benchmarks.utility.groups`. Epsilon {epsilon:g}, delta 1/n^2, mean and
  standard deviation over {seeds} seeds, defaults. Groups are known in training only; their labels
  are public, their shares counted within the budget.
"""


def groupings():
    """Return {name: group of every row}, training rows first."""
    frame = _adult_frame()
    _, _, y_train, y_test = load("adult")
    sex = frame["sex"].str[0].to_numpy(str)
    race = frame["race"].where(frame["race"].isin(["White", "Black", "Asian-Pac-Islander"]),
                               "Other").str[0].to_numpy(str)
    label = np.concatenate([y_train, y_test]).astype(str)
    return {"sex x label": np.char.add(sex, label), "sex x race": np.char.add(sex, race)}


def measures(scores, y, groups):
    """Return accuracy and risk of all rows and of the worst group."""
    right = (scores > 0) == y
    losses = np.logaddexp(0.0, scores) - y * scores
    parts = [groups == group for group in np.unique(groups)]
    return (right.mean(), min(right[part].mean() for part in parts), losses.mean(),
            max(losses[part].mean() for part in parts))


def minimax(X, y, groups, rounds=60, rate=3.0):
    """Return scores of test rows at about the optimum for the worst group, without privacy.

    Logistic regression under weights of the groups that grow with their risks.
    """
    names, members = np.unique(groups, return_inverse=True)
    shares = np.bincount(members) / len(members)
    weights, total = np.full(len(names), 1 / len(names)), 0.0
    model = LogisticRegression(C=1e3, max_iter=300, warm_start=True)
    for _ in range(rounds):
        model.fit(X, y, sample_weight=(weights / shares)[members])
        scores = model.decision_function(X)
        losses = np.logaddexp(0.0, scores) - y * scores
        risks = np.bincount(members, losses) / np.bincount(members)
        weights = weights * np.exp(rate * (risks - risks.max()))
        weights /= weights.sum()
        total = total + np.append(model.coef_.ravel(), model.intercept_)
    mean = total / rounds
    return lambda rows: rows @ mean[:-1] + mean[-1]


def fits(own, X, y):
    """Return {label: function of a seed that returns a function from rows to scores}."""
    def private(cls, **params):
        def fit(seed):
            extra = {"groups": own} if cls is DPGroupDROClassifier else {}
            model = cls(EPSILON, random_state=NoiseSeed(seed), **params)
            return model.fit(X, y, **extra).decision_function

        return fit

    plain = LogisticRegression(C=1e3, max_iter=3000).fit(X, y)
    best = minimax(X, y, own)
    return {
        "DPLogisticRegression": private(DPLogisticRegression),
        "DPGroupDROClassifier": private(DPGroupDROClassifier),
        **{f"the same, group_penalty={penalty:g}":
           private(DPGroupDROClassifier, group_penalty=penalty) for penalty in PENALTIES},
        "not private, average": lambda seed: plain.decision_function,
        "not private, minimax": lambda seed: best}


def draw(found, path):
    """Draw worst groups against averages: accuracy above, risk below."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(found), figsize=(9, 7), squeeze=False)
    for column, (name, models) in enumerate(found.items()):
        for row, quantity in enumerate(("accuracy", "risk")):
            ax, path_of = axes[row, column], []
            for model, runs in models.items():
                x, least = runs[:, 2 * row], runs[:, 2 * row + 1]
                if "penalty" in model:
                    path_of.append((x.mean(), least.mean()))
                label = None if "penalty" in model else model
                ax.errorbar(x.mean(), least.mean(), least.std(), x.std(), fmt="o", ms=4,
                            label=label, color="C1" if "penalty" in model else None)
            ax.plot(*zip(*path_of, strict=True), "C1--", lw=0.8, label="other group_penalty")
            ax.set(title=name, xlabel=f"average {quantity}", ylabel=f"worst {quantity}")
        axes[0, column].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path("docs/results/fairness.md"))
    options = parser.parse_args()
    X, X_test, y, y_test = load("adult")
    lines, found = [], {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, groups in groupings().items():
            own, test = groups[:len(y)], groups[len(y):]
            found[name] = {}
            for model, fit in fits(own, X, y).items():
                seeds = 1 if "not private" in model else options.seeds
                runs = np.array([measures(fit(seed)(X_test), y_test, test)
                                 for seed in range(seeds)])
                found[name][model] = runs
                cells = " | ".join(f"{mean:.4f} ± {spread:.4f}" for mean, spread in
                                   zip(runs.mean(axis=0), runs.std(axis=0), strict=True))
                lines.append(f"| {name} | {model} | {cells} |")
                print(lines[-1], flush=True)
    picture = options.output.with_suffix(".png")
    draw(found, picture)
    head = HEADER.format(epsilon=EPSILON, seeds=options.seeds).splitlines()
    put_page(options.output, "\n".join([
        *head, "", "| groups | model | accuracy | worst accuracy | risk | worst risk |",
        "|" + "---|" * 6, *lines, "", f"![worst group against average]({picture.name})", ""]))


if __name__ == "__main__":
    main()
