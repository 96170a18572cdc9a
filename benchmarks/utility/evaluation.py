"""What private evaluation buys: errors of metrics of one noisy histogram, and of residuals.

    python -m benchmarks.utility.evaluation [--draws 200] [--output FILE] [--picture FILE]

A model is fitted to the training part at epsilon 1, and its test part is evaluated over and over.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn import metrics

from benchmarks.datasets import load
from benchmarks.measuring import put_page
from dpsk import DPLinearRegression, DPLogisticRegression
from dpsk.metrics import BinaryEvaluation, DPCalibrationDisplay, DPRocCurveDisplay
from dpsk.metrics import RegressionEvaluation as Regression
from dpsk.testing import NoiseSeed

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
CLASSIFIED = ("adult", "bank", "credit")
REGRESSED = {"bike": ((-1.0, 1.0), 0.5), "adult_hours": ((1.0, 99.0), 40.0)}
HEADER = """# Private evaluation of five data sets

`python -m benchmarks.utility.evaluation`: a model fitted to the training part at epsilon 1; its
test part, delta 1/n^2, default bins, {draws} draws of the noise. Of each metric: the
95 % quantile of the error against the exact metric of the same rows / the mean stated standard
error / how often the stated 95 % interval covers the exact metric. {draws} draws leave {doubt:.1f}
points of doubt in a coverage. Calibration: of five groups, the largest error of a share of
positives against that of the exact histogram, and the coverage of all five. Residuals are
compared with the exact metrics of clipped ones; "beyond" is the share that the bound cuts.

![curves of two epsilons on Adult](evaluation_data.png)
"""


def calibration(evaluation):
    """Return the Estimate of the shares of positives in five groups."""
    return evaluation.calibration_curve()[0]


SCALARS = {
    "AUC": (metrics.roc_auc_score, BinaryEvaluation.roc_auc),
    "average precision": (metrics.average_precision_score, BinaryEvaluation.average_precision),
    "accuracy": (lambda y, p: np.mean((p >= 0.5) == y), BinaryEvaluation.accuracy),
    "balanced accuracy": (lambda y, p: metrics.balanced_accuracy_score(y, p >= 0.5),
                          BinaryEvaluation.balanced_accuracy),
    "Brier": (metrics.brier_score_loss, BinaryEvaluation.brier_score)}
ERRORS = {
    "MSE": (metrics.mean_squared_error, Regression.mean_squared_error),
    "MAE": (metrics.mean_absolute_error, Regression.mean_absolute_error),
    "R2": (metrics.r2_score, Regression.r2)}


def cell(exact, estimates):
    """Return a cell of a table: error, stated error, coverage; one exact metric, or one each."""
    exacts = exact if isinstance(exact, list) else [exact] * len(estimates)
    errors = [np.max(np.abs(each.value - own))
              for own, each in zip(exacts, estimates, strict=True)]
    covered = [np.mean((each.interval()[0] <= own) & (own <= each.interval()[1]))
               for own, each in zip(exacts, estimates, strict=True)]
    stated = np.mean([np.mean(each.standard_error) for each in estimates])
    return f"{np.quantile(errors, 0.95):.4f} / {stated:.4f} / {np.mean(covered):.3f}"


def scored(name):
    """Return labels and probabilities of a test part."""
    X, X_test, y, y_test = load(name)
    model = DPLogisticRegression(1.0, random_state=NoiseSeed(0)).fit(X, y)
    return (y_test == model.classes_[1]).astype(int), model.predict_proba(X_test)[:, 1]


def histogram_lines(name, draws):
    """Yield lines of the table of one set."""
    y, p = scored(name)
    exact = {key: score(y, p) for key, (score, _) in SCALARS.items()}
    values = ", ".join(f"{key} {value:.4f}" for key, value in exact.items())
    yield f"{name}: n {len(y)}, {y.mean():.3f} positive; exact {values}."
    yield ""
    yield f"| epsilon | bins | {' | '.join(SCALARS)} | calibration |"
    yield "|" + "---|" * (len(SCALARS) + 3)
    for epsilon in EPSILONS:
        found = [BinaryEvaluation.from_predictions(y, p, epsilon=epsilon,
                                                   random_state=NoiseSeed(seed))
                 for seed in range(draws)]
        # Bins follow the noise too.
        whole = [BinaryEvaluation.from_predictions(y, p, epsilon=np.inf, bins=each.bins.inner)
                 for each in found]
        cells = [cell(exact[key], [metric(each) for each in found])
                 for key, (_, metric) in SCALARS.items()]
        cells.append(cell([calibration(each).value for each in whole],
                          [calibration(each) for each in found]))
        yield f"| {epsilon:g} | {len(found[0].bins)} | {' | '.join(cells)} |"
    yield ""


def residual_lines(name, draws):
    """Yield lines of the table of residuals of one set, unclipped and clipped."""
    bounds, reach = REGRESSED[name]
    X, X_test, y, y_test = load(name)
    model = DPLinearRegression(1.0, target_bounds=bounds, random_state=NoiseSeed(0)).fit(X, y)
    found = np.clip(model.predict(X_test), *bounds)
    residuals = y_test - found
    values = ", ".join(f"{key} {score(y_test, found):.4f}" for key, (score, _) in ERRORS.items())
    yield f"{name}: n {len(y_test)}, targets in {bounds}; exact {values}."
    yield ""
    yield f"| bound | beyond | epsilon | {' | '.join(ERRORS)} |"
    yield "|" + "---|" * (len(ERRORS) + 3)
    for bound in (bounds[1] - bounds[0], reach):
        clipped = y_test - np.clip(residuals, -bound, bound)
        exact = {key: score(y_test, clipped) for key, (score, _) in ERRORS.items()}
        beyond = np.mean(np.abs(residuals) > bound)
        for epsilon in EPSILONS:
            drawn = [Regression.from_predictions(
                y_test, found, epsilon=epsilon, target_bounds=bounds, residual_bound=bound,
                random_state=NoiseSeed(seed)) for seed in range(draws)]
            cells = [cell(exact[key], [metric(each) for each in drawn])
                     for key, (_, metric) in ERRORS.items()]
            yield f"| {bound:g} | {beyond:.3f} | {epsilon:g} | {' | '.join(cells)} |"
    yield ""


def draw(path):
    """Write the ROC curve and the reliability diagram of Adult at two epsilons."""
    import matplotlib.pyplot as plt

    y, p = scored("adult")
    _, axes = plt.subplots(1, 2, figsize=(9, 4.2))
    for epsilon in (0.25, 1.0):
        evaluation = BinaryEvaluation.from_predictions(y, p, epsilon=epsilon,
                                                       random_state=NoiseSeed(0))
        for display, ax in zip((DPRocCurveDisplay, DPCalibrationDisplay), axes, strict=True):
            shown = display.from_evaluation(evaluation, ax=ax)
            shown.line_.set_label(f"epsilon {epsilon:g}: {shown.line_.get_label()}")
            ax.legend()
    fpr, tpr, _ = metrics.roc_curve(y, p)
    axes[0].plot(fpr, tpr, color="black", linewidth=0.8, label="exact, not private")
    axes[0].legend()
    plt.tight_layout()
    plt.savefig(path, dpi=80)


def main():
    """Print the tables, or write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.picture:
        draw(given.picture)
    doubt = 100.0 * np.sqrt(0.95 * 0.05 / given.draws)
    lines = [HEADER.format(draws=given.draws, doubt=doubt)]
    for title, names, table in (("Scores of two classes", CLASSIFIED, histogram_lines),
                                ("Residuals", REGRESSED, residual_lines)):
        lines += [f"## {title}", ""]
        for name in names:
            for line in table(name, given.draws):
                print(line, flush=True)
                lines.append(line)
    if given.output:
        put_page(given.output, "\n".join(lines))


if __name__ == "__main__":
    main()
