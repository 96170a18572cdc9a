"""Speed and memory of fits, as ratios measured side by side in one run.

    python benchmarks/speed/fit.py [--output docs/results/fit_speed.md]

For one and two BLAS threads: a ``gd`` fit of 50 steps against its own matrix-vector products
plus one ``expit`` a step; a default fit against scikit-learn's LogisticRegression; the peak of
traced memory over the size of the input, dense, in single precision and sparse. Then default
fits against those of LogisticRegression on tables of normal rows of several shapes.
"""

import argparse
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from dpsk import DPLogisticRegression

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load
from measuring import fastest, put_tables, traced_peak

REPEATS = 9
STEPS = 50
#: Rows and columns of tables of normal rows -> the ratio before passes over rows were made leaner
#: and steps of descent fewer where the signal is ample, measured alike.
SHAPES = [(10**4, 20), (10**5, 20), (10**6, 20), (4 * 10**6, 20), (10**5, 100), (10**5, 400),
          (2 * 10**4, 1500)]
#: Entries from which on fewer runs do.
_LARGE = 3 * 10**7


def kernels(X, w):
    """Do the matrix-vector work of STEPS full gradients and nothing else."""
    for _ in range(STEPS):
        X.T @ expit(X @ w)


def measure():
    """Return the rows of the table: (what, one thread, two threads)."""
    X, _, y, _ = load("adult")
    w = np.full(X.shape[1], 0.01)
    columns = []
    for threads in (1, 2):
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fixed, whitened, bare, default, plain = fastest(
                lambda: DPLogisticRegression(solver="gd", max_iter=STEPS,
                                             precondition=False).fit(X, y),
                lambda: DPLogisticRegression(solver="gd", max_iter=STEPS).fit(X, y),
                lambda: kernels(X, w),
                lambda: DPLogisticRegression().fit(X, y),
                lambda: LogisticRegression().fit(X, y),
                repeats=REPEATS, clock=time.perf_counter)
        columns.append((fixed / bare, whitened / bare, default / plain, plain / default))
    names = (f"gd fit of {STEPS} steps, rows as they are / its products and expit (bar: 1.5)",
             f"gd fit of {STEPS} steps, whitened / the same products and expit",
             "default fit / LogisticRegression fit (bar: 1 on one thread)",
             "LogisticRegression fit / default fit")
    rows = [(name, *(f"{column[i]:.2f}" for column in columns)) for i, name in enumerate(names)]
    return [*rows, *memory(X, y)]


def memory(X, y):
    """Return rows of the table: the traced peak of a default fit over the bytes of its input."""
    sparse_rows = sparse.csr_matrix(X)
    forms = {"float64": (X, X.nbytes), "float32": (X.astype(np.float32), X.nbytes // 2),
             "CSR of float64": (sparse_rows, sum(part.nbytes for part in (
                 sparse_rows.data, sparse_rows.indices, sparse_rows.indptr)))}
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (rows, size) in forms.items():
            peak = traced_peak(partial(DPLogisticRegression().fit, rows, y)) / size
            lines.append((f"peak traced memory / input, {name} (bar: 0.3)", f"{peak:.3f}", ""))
    return lines


def by_shape():
    """Yield lines of the table of normal rows, of one thread."""
    rng = np.random.default_rng(0)
    for n_samples, columns in SHAPES:
        X = rng.standard_normal((n_samples, columns))
        scores = X @ rng.standard_normal(columns) / np.sqrt(columns)
        y = (scores + rng.logistic(size=n_samples) > 0).astype(int)
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPLogisticRegression()
            ours, theirs = fastest(lambda X=X, y=y, model=model: model.fit(X, y),
                                   lambda X=X, y=y: LogisticRegression().fit(X, y),
                                   repeats=2 if n_samples * columns >= _LARGE else 6)
        yield (f"| {n_samples} | {columns} | {model.privacy_.solver} | {model.n_iter_} | "
               f"{ours:.3f} | {theirs:.3f} | {ours / theirs:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    lines = ["| | one thread | two threads |", "|---|---|---|",
             *(f"| {' | '.join(row)} |" for row in measure()), "",
             "| rows | columns | solver | passes | seconds | LogisticRegression | ratio |",
             "|" + "---|" * 7, *by_shape()]
    print("\n".join(lines))
    if output:
        put_tables(output, "\n".join(lines))


if __name__ == "__main__":
    main()
