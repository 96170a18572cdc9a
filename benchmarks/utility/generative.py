"""Classifiers trained on rows that private samplers drew, tested on real rows.

    python -m benchmarks.utility.generative [--seeds 5] [--output docs/results/synthetic_data.md]
    python -m benchmarks.utility.generative --only ranges    # that table, printed
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import (
    _ADULT_BOUNDS,
    _ADULT_CATEGORIES,
    _ADULT_TRAIN,
    _adult_frame,
    load,
)
from benchmarks.measuring import put_page
from dpsk import DPWGAN, DPGaussianSampler, DPTreeSampler

#: (epsilon, delta) of the tables; None is 1/n^2.
IMAGE_BUDGETS = [(10.0, 1e-5), (1.0, 1e-5), (1.0, None)]
TABLE_BUDGETS = [(1.0, None), (10.0, None)]
RANGE_EPSILONS = (0.3, 1.0, 3.0, 10.0)
#: Round numbers about what such columns hold: means, standard errors and worst of ten measures.
_CANCER_HIGH = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.3, 0.4, 0.1,
                3, 5, 25, 550, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03,
                40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25]
_WINE_LOW = [11, 0, 1, 10, 70, 0.5, 0, 0, 0, 1, 0.4, 1, 200]
_WINE_HIGH = [15, 6, 3.5, 30, 170, 4, 5.5, 0.7, 4, 14, 1.8, 4.2, 1700]
HEADER = """# Synthetic data: classifiers trained on synthetic rows

Accuracy (%) on real test rows of classifiers that were trained on synthetic data only.

- Command: `python -m benchmarks.utility.generative`. As many synthetic rows as real ones, mean and
  standard deviation over {seeds} seeds, defaults. Seconds are of one thread: one fit, and sampling
  all rows.
- LR: scikit-learn's logistic regression, 60 steps on images. MLP: one hidden layer of 100, 20
  passes, `alpha=.01`. Boosting: `HistGradientBoostingClassifier`.
"""

RANGES = """`feature_range` None, "auto" (learned), or declared round numbers; logistic
regression on standardized features; delta 1/n^2. "Normal, six orders": ten features of two classes
0.9 standard deviations apart, in units from 0.001 to 1000."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("docs/results/synthetic_data.md"))
    parser.add_argument("--only", choices=["ranges"])
    options = parser.parse_args()
    lines = HEADER.format(seeds=options.seeds).splitlines()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _shown(ranges(options.seeds))
        if options.only:
            return
        lines += _table("MNIST, DPGaussianSampler", "directions | LR | MLP",
                        images("mnist", options.seeds, DPGaussianSampler, "n_components_"))
        lines += _table("MNIST, DPWGAN", "rounds | LR | MLP",
                        images("mnist", options.seeds, DPWGAN, "n_iter_"))
        lines += _table("Adult, DPTreeSampler", "bounds of numbers | LR | boosting",
                        adult(options.seeds))
        lines += _table("Fashion-MNIST, DPGaussianSampler", "directions | LR | MLP",
                        images("fashion_mnist", options.seeds, DPGaussianSampler,
                               "n_components_"))
    lines += ["", "## Ranges of columns, DPGaussianSampler", "", RANGES, "", *found]
    put_page(options.output, "\n".join([*lines, ""]))


def _table(title, columns, lines):
    """Return the lines of a table with its title, printed as they come."""
    found = ["", f"## {title}", "", f"| epsilon | delta | {columns} | fit | sample |",
             "|" + "---|" * 7]
    return found + _shown(lines)


def _shown(lines):
    """Return lines, printed as they come."""
    found = []
    for line in lines:
        print(line, flush=True)
        found.append(line)
    return found


def ranges(seeds):
    """Yield the table of tables in their own units: columns as they are, or with their ranges."""
    yield "| set | n | columns | epsilon | as they are | learnt | declared | real rows |"
    yield "|" + "---|" * 8
    for name, make, given in _tables_in_units():
        tables = [make(seed) for seed in range(seeds)]
        X, _, y, _ = tables[0]
        real = np.mean([_accuracy(*table[::2], *table[1::2]) for table in tables])
        for epsilon in RANGE_EPSILONS:
            cells, learns = [], False
            for words in (None, "auto", given):
                runs = []
                for seed, (X, X_test, y, y_test) in enumerate(tables):
                    sampler = DPGaussianSampler(epsilon, feature_range=words).fit(X, y)
                    drawn = sampler.sample(len(X), random_state=seed)
                    runs.append([_accuracy(*drawn, X_test, y_test)])
                    learns = learns or (words == "auto" and sampler.feature_range_ is not None)
                cells.append("too few rows" if words == "auto" and not learns else _cells(runs))
            yield (f"| {name} | {len(X)} | {X.shape[1]} | {epsilon:g} | {' | '.join(cells)} "
                   f"| {real:.1f} |")


def _accuracy(rows, labels, X_test, y_test):
    """Return the accuracy of a classifier in per cent; of no use where rows have one class."""
    if len(np.unique(labels)) == 1:
        return 100 * float(np.mean(y_test == labels[0]))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return 100 * model.fit(rows, labels).score(X_test, y_test)


def _tables_in_units():
    """Yield name, split of a seed, and ranges of tables of columns of numbers."""
    for name, load_it, bounds in (
            ("breast cancer", load_breast_cancer, (0, _CANCER_HIGH)),
            ("wine", load_wine, (_WINE_LOW, _WINE_HIGH)), ("iris", load_iris, (0, 10))):
        def split(seed, load_it=load_it):
            X, y = load_it(return_X_y=True)
            return train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        yield name, split, bounds
    columns, bounds = list(_ADULT_BOUNDS), tuple(np.array(list(_ADULT_BOUNDS.values())).T)
    frame = _adult_frame()
    for column in ("gain", "loss"):
        frame[column] = np.log1p(frame[column].astype(float))
    X = frame[columns].to_numpy(float)
    y = frame["income"].str.startswith(">50K").to_numpy().astype(int)
    yield "Adult, numbers", lambda seed: (
        X[:_ADULT_TRAIN], X[_ADULT_TRAIN:], y[:_ADULT_TRAIN], y[_ADULT_TRAIN:]), bounds
    scale = np.logspace(-3, 3, 10)
    middle = np.random.default_rng(0).uniform(-2, 2, size=10)
    for n in (2000, 20_000):
        def drawn(seed, n=n):
            rng = np.random.default_rng([1, seed])
            codes = rng.integers(2, size=n + 10_000)
            rows = scale * (middle + 0.9 * (codes[:, None] - 0.5) + rng.normal(
                size=(len(codes), 10)))
            return rows[:n], rows[n:], codes[:n], codes[n:]
        yield "normal, six orders", drawn, (scale * (middle - 5), scale * (middle + 5))


def images(name, seeds, make, fact):
    """Yield lines of the table of a set of images, the real rows last; `fact` is an attribute."""
    X, X_test, y, y_test = load(name)

    def scores(rows, labels, seed):
        models = (LogisticRegression(max_iter=60),
                  MLPClassifier((100,), max_iter=20, alpha=1e-2, batch_size=256,
                                random_state=seed))
        return [100 * model.fit(rows, labels).score(X_test, y_test) for model in models]

    for epsilon, delta in IMAGE_BUDGETS:
        runs, facts = [], []
        for seed in range(seeds):
            start = time.process_time()
            sampler = make(epsilon, delta=delta, feature_range=(0, 1)).fit(X, y)
            fitted = time.process_time()
            rows, labels = sampler.sample(len(X), random_state=seed)
            facts.append((getattr(sampler, fact), fitted - start, time.process_time() - fitted))
            runs.append(scores(rows, labels, seed))
        shown, fit, sample = np.median(facts, axis=0)
        yield (f"| {epsilon:g} | {_delta(delta)} | {shown:.0f} | {_cells(runs)} | {fit:.1f} "
               f"| {sample:.1f} |")
    yield f"| real rows | | | {_cells([scores(X, y, 0)])} | | |"


def adult(seeds):
    """Yield lines of the table of Adult as it is, the real rows last."""
    frame = _adult_frame()
    for column in ("gain", "loss"):
        frame[column] = np.log1p(frame[column].astype(float))
    target = frame.pop("income").str.startswith(">50K").to_numpy().astype(int)
    levels = {name: sorted(frame[name].unique()) for name in _ADULT_CATEGORIES}
    train, test = frame[:_ADULT_TRAIN], frame[_ADULT_TRAIN:]

    def scores(rows, labels):
        models = ((LogisticRegression(max_iter=300), _one_hot),
                  (HistGradientBoostingClassifier(random_state=0), _ordinal))
        return [100 * model.fit(form(rows, levels), labels).score(
            form(test, levels), target[_ADULT_TRAIN:]) for model, form in models]

    bounds = {name: tuple(ends) for name, ends in _ADULT_BOUNDS.items()}
    for epsilon, delta in TABLE_BUDGETS:
        for words, columns in (("declared", {**levels, **bounds}), ("learnt", levels)):
            runs, times = [], []
            for seed in range(seeds):
                start = time.process_time()
                sampler = DPTreeSampler(epsilon, delta=delta, columns=columns)
                sampler.fit(train, target[:_ADULT_TRAIN])
                fitted = time.process_time()
                rows, labels = sampler.sample(_ADULT_TRAIN, random_state=seed)
                times.append((fitted - start, time.process_time() - fitted))
                runs.append(scores(rows, labels))
            fit, sample = np.median(times, axis=0)
            yield (f"| {epsilon:g} | {_delta(delta)} | {words} | {_cells(runs)} | {fit:.1f} "
                   f"| {sample:.1f} |")
    yield f"| real rows | | | {_cells([scores(train, target[:_ADULT_TRAIN])])} | | |"


def _one_hot(frame, levels):
    """Return numbers in their ranges and indicators of categories."""
    numbers = [(frame[name].clip(low, high) - low) / (high - low)
               for name, (low, high) in _ADULT_BOUNDS.items()]
    return np.column_stack([*numbers, *(frame[name] == level for name, known in levels.items()
                                        for level in known)]).astype(float)


def _ordinal(frame, levels):
    """Return numbers, and positions of categories."""
    return np.column_stack([*(frame[name] for name in _ADULT_BOUNDS), *(
        pd.Categorical(frame[name], known).codes for name, known in levels.items())])


def _cells(runs):
    runs = np.array(runs)
    if len(runs) == 1:
        return " | ".join(f"{value:.1f}" for value in runs[0])
    return " | ".join(f"{mean:.1f} ± {spread:.1f}" for mean, spread in
                      zip(runs.mean(axis=0), runs.std(axis=0), strict=True))


def _delta(delta):
    return "1/n^2" if delta is None else f"{delta:g}"


if __name__ == "__main__":
    main()
