"""Scores, labels and numbers of many shapes, with exact metrics, that evaluations are tried on."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit
from scipy.stats import beta
from sklearn import metrics
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from dpsk.metrics import BinaryEvaluation, MulticlassEvaluation, RegressionEvaluation

PREVALENCES = (0.5, 0.05, 0.013)
STEPS = np.array([0.011, 0.034, 0.09, 0.13, 0.27, 0.31, 0.46, 0.52, 0.66, 0.71, 0.88, 0.93,
                  0.985])
FOUR = np.array([0.0731, 0.2113, 0.4177, 0.7919])
#: Shapes by which constants and rules of the package were chosen; it is judged on all others.
CHOSEN = ("logistic", "crowded", "bimodal", "three crowds", "lowest at the top")


def top_ties(z):
    """Return probabilities of which the highest fiftieth are 1."""
    p = expit(z)
    return np.where(z >= np.quantile(z, 0.98), 1.0, p)


def horned(z):
    """Return probabilities of a beta law, most next to 0 or 1, in the order of z."""
    return beta.ppf((np.argsort(np.argsort(z)) + 0.5) / len(z), 0.3, 0.3)


@lru_cache(maxsize=2)
def learner(kind):
    """Return a fitted model of two features, one more told apart than the other."""
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=3000)
    X = rng.normal(size=(3000, 2)) + y[:, None] * [1.5, 0.5]
    model = (GradientBoostingClassifier(n_estimators=150, random_state=0) if kind == "boosted" else
             DecisionTreeClassifier(max_leaf_nodes=7, random_state=0))
    return model.fit(X, y)


def learned(kind):
    """Return probabilities of a model by a number and one that follows from it."""
    return lambda z: learner(kind).predict_proba(np.column_stack(
        [z + 0.75, np.sin(37.0 * z)]))[:, 1]


#: Scores of numbers of two normal laws, the mean of positives higher.
SHAPES = {
    "logistic": expit,
    "crowded": lambda z: 0.5 + 0.02 * np.tanh(z / 2.0),
    "bimodal": lambda z: np.where(z > 0.0, 0.85, 0.15) + 0.02 * np.tanh(z),
    "sharp": lambda z: expit(6.0 * z),
    "rounded": lambda z: np.round(expit(z), 2),
    "constant": lambda z: np.full(len(z), 0.3),
    "beta": horned,
    "ties at the top": top_ties,
    "boosted": learned("boosted"),
    "tree": learned("tree"),
    "four numbers": lambda z: FOUR[np.searchsorted([0.4, 0.7, 0.9], expit(z))],
    "reversed": lambda z: expit(-z),
    "rare risks": lambda z: np.exp(1.5 * z - 8.0).clip(0.0, 1.0),
    "nearly perfect": lambda z: expit(4.0 * np.sign(z) * np.abs(z)**0.2),
    "zeros": lambda z: np.where(z < 0.7, 0.0, expit(z)),
    "steps": lambda z: STEPS[np.searchsorted(np.linspace(-2.2, 2.2, 12), z)],
    "wave": lambda z: 0.5 + 0.45 * np.sin(1.7 * z),
    "two kinds": lambda z: np.where(np.sin(53.0 * z) > 0.0, 0.1 + 0.01 * np.tanh(z), expit(z)),
    "half decided": lambda z: np.where(np.sin(41.0 * z) > 0.3, 1.0 * (z > 0.0), expit(0.7 * z)),
    "cubes": lambda z: expit(0.8 * z**3),
    "margins": lambda z: 300.0 * z**3,
    "three crowds": lambda z: (np.array([0.2, 0.5, 0.8])[np.searchsorted([-0.5, 0.5], z)]
                               + 0.002 * np.tanh(z)),
    "lowest at the top": lambda z: expit(np.where(z < -3.0, 2.0 - z, z)),
}
#: What separates the classes before a shape is laid on it.
APART = {"nearly perfect": 7.0}
#: Scores of any size, whose range is not declared.
UNBOUNDED = ("margins",)
#: Probabilities below count as it in the log loss.
FLOOR = 0.01


def scored(shape, prevalence, n, seed=0):
    """Return labels and scores of a shape."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < max(2, round(prevalence * n))).astype(int)
    return y, SHAPES[shape](rng.normal(size=n) + APART.get(shape, 1.5) * (y - 0.5))


def lift(y, p):
    """Return the exact lift of a tenth of the rows, ties in any order alike."""
    order = np.argsort(-p, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(p[order])) + 1, len(p))
    held = np.append(0, np.cumsum(y[order])[ends - 1])
    return np.interp(0.1 * len(p), np.append(0, ends), held) / y.sum() / 0.1


def decided(score, **more):
    """Return a metric of predictions at the middle of the range."""
    return lambda y, p: score(y, p >= (0.5 if 0.0 <= p.min() and p.max() <= 1.0 else 0.0), **more)


def share(part, whole):
    """Return a share, NaN of nothing."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


BINARY = {
    "roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score,
    "brier_score": metrics.brier_score_loss,
    "log_loss": lambda y, p: -np.log(np.clip(np.where(y == 1, p, 1.0 - p), FLOOR, 1.0)).mean(),
    "accuracy": decided(metrics.accuracy_score),
    "balanced_accuracy": decided(metrics.balanced_accuracy_score),
    "precision": decided(metrics.precision_score, zero_division=np.nan),
    "recall": decided(metrics.recall_score), "f1": decided(metrics.f1_score),
    "lift": lift, "prevalence": lambda y, p: y.mean()}


def labelled(shape, n_classes, n, seed=0):
    """Return labels and predictions of many classes."""
    rng = np.random.default_rng(seed)
    skewed = 1.0 / np.arange(1, n_classes + 1)**1.2
    weights = skewed if shape in ("skewed", "never guessed") else np.ones(n_classes)
    y = rng.choice(n_classes, n, p=weights / weights.sum())
    right = {"even": 0.7, "skewed": 0.8, "perfect": 1.0, "chance": 0.0, "never guessed": 0.6}[
        shape]
    guesses = np.where(rng.uniform(size=n) < right, y, rng.integers(n_classes, size=n))
    if shape == "never guessed":
        guesses[guesses == n_classes - 1] = 0
    return y, guesses


def _table(y, g):
    n = int(max(y.max(), g.max())) + 1
    return np.bincount(y * n + g, minlength=n * n).reshape(n, n)


def _of_table(metric):
    return lambda y, g: metric(_table(y, g))


MULTICLASS = {
    "accuracy": lambda y, g: np.mean(y == g),
    "balanced_accuracy": _of_table(lambda t: np.nanmean(share(np.diag(t), t.sum(axis=1)))),
    "recall": _of_table(lambda t: share(np.diag(t), t.sum(axis=1))),
    "precision": _of_table(lambda t: share(np.diag(t), t.sum(axis=0))),
    "f1": _of_table(lambda t: share(2 * np.diag(t), t.sum(axis=0) + t.sum(axis=1))),
    "confusion_matrix": _table}

#: Residuals over their bound.
RESIDUALS = {
    "normal": lambda rng, n: 0.2 * rng.normal(size=n),
    "small": lambda rng, n: 0.01 * rng.normal(size=n),
    "none": lambda rng, n: np.zeros(n),
    "heavy": lambda rng, n: 0.1 * rng.standard_t(2, size=n),
    "wide": lambda rng, n: rng.uniform(-1.0, 1.0, size=n),
    "spikes": lambda rng, n: np.where(rng.uniform(size=n) < 0.01, 0.9, 0.0),
    "one side": lambda rng, n: 0.3 * rng.exponential(size=n)}


def numbers(shape, spread, n, seed=0):
    """Return targets, predictions; targets in [-1, 1], residuals bounded by 1."""
    rng = np.random.default_rng(seed)
    y = np.clip(spread * rng.normal(size=n), -1.0, 1.0)
    residuals = np.clip(RESIDUALS[shape](rng, n), -1.0, 1.0)
    return y, y - np.clip(residuals, y - 1.0, y + 1.0)


REGRESSION = {
    "mean_squared_error": metrics.mean_squared_error,
    "mean_absolute_error": metrics.mean_absolute_error,
    "root_mean_squared_error": metrics.root_mean_squared_error,
    "r2": metrics.r2_score, "mean_residual": lambda y, g: np.mean(y - g),
    "clipped_share": lambda y, g: np.mean(np.abs(y - g) > 1.0)}


@dataclass(frozen=True)
class Kind:
    """A kind of evaluation, its shapes, and its metrics with their exact values."""

    evaluation: type
    shapes: dict
    seconds: tuple
    rows: object
    metrics: dict

    def options(self, shape, second):
        """Return what is public of the rows of a shape."""
        if self.evaluation is RegressionEvaluation:
            return {"target_bounds": (-1.0, 1.0), "residual_bound": 1.0}
        if self.evaluation is MulticlassEvaluation:
            return {"labels": range(second)}
        return {"score_range": None} if shape in UNBOUNDED else {"log_loss_floor": FLOOR}

    def exact(self, shape, rows):
        """Return exact values by metric."""
        return {name: np.asarray(exact(*rows), dtype=float) for name, exact in
                self.metrics.items()
                if not (name in ("brier_score", "log_loss") and shape in UNBOUNDED)}


KINDS = {
    "binary": Kind(BinaryEvaluation, SHAPES, PREVALENCES, scored, BINARY),
    "multiclass": Kind(MulticlassEvaluation, dict.fromkeys(
        ("even", "skewed", "perfect", "chance", "never guessed")), (3, 10, 40), labelled,
        MULTICLASS),
    "regression": Kind(RegressionEvaluation, RESIDUALS, (0.3, 0.03), numbers, REGRESSION)}
