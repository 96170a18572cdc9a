"""Speed and memory of a fit on Adult, as ratios measured side by side in one run.

    python benchmarks/speed/fit.py [--output docs/results/fit_speed.md]

For one and two BLAS threads: a ``gd`` fit of 50 steps against its own matrix-vector products
plus one ``expit`` a step; a default fit against scikit-learn's LogisticRegression; the peak of
traced memory over the size of the input, dense, in single precision and sparse.
"""

import argparse
import sys
import time
import tracemalloc
import warnings
from datetime import date
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

REPEATS = 9
STEPS = 50


def fastest(*functions):
    """Return the least time of each function over REPEATS interleaved runs, in seconds."""
    least = np.full(len(functions), np.inf)
    for _ in range(REPEATS):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            least[i] = min(least[i], time.perf_counter() - start)
    return least


def kernels(X, w):
    """Do the matrix-vector work of STEPS full gradients and nothing else."""
    for _ in range(STEPS):
        X.T @ expit(X @ w)


def traced_peak(function):
    """Return the peak of memory traced during the call, in bytes."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


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
                lambda: LogisticRegression().fit(X, y))
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    lines = [f"# Speed and memory of a fit on Adult ({date.today()})", "",
             f"Ratios of the least of {REPEATS} interleaved runs; float64, random_state=None, "
             "epsilon 1, BLAS threads pinned alike.", "",
             "| | one thread | two threads |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in measure()]
    print("\n".join(lines))
    if output:
        output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
