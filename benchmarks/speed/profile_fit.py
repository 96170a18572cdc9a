"""Where the time of a fit goes, phase by phase, beside what memory and arithmetic allow.

    python benchmarks/speed/profile_fit.py [SHAPE ...] [--estimator DPLogisticRegression]
        [--threads 1] [--repeats 3] [--output docs/results/fit_phases.md]

A shape is rows times columns, such as 10000x20; or 100000x20 with 30000 groups ("groups") or with
40 classes ("classes"), or 100000x10000 sparse ("csr"). Functions of each phase are timed by
processor time, in whatever thread they run, less those of other phases that they call.
"""

import argparse
import importlib
import sys
import threading
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from datetime import date
from functools import wraps
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from threadpoolctl import threadpool_limits

import dpsk

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import fastest, put_tables

#: The functions whose time is that of a phase; what is in none of them is the rest.
PHASES = {
    "validation": ("dpsk._estimator:DPEstimator._check_params", "dpsk._data.validation:check_rows",
                   "dpsk._data.groups:groups_of", "dpsk._data.weights:check_weights",
                   "dpsk._data.labels:encoded_rows"),
    "entering": ("dpsk._data.norms:row_norms", "dpsk._statistics.quantiles:_counts",
                 "dpsk._sums.truncation:whole_units", "dpsk._sums.float_entry:FloatEntry._enter",
                 "dpsk._sums.grid_entry:GridEntry._enter",
                 "dpsk._sums.whitened_entry:WhitenedGridEntry._enter"),
    "moment": ("dpsk._statistics.moments:_squares_sum",),
    "factors": ("dpsk._stages.whitening:thresholded", "dpsk._stages.whitening:InverseRoot.of",
                "dpsk._stages.whitening:Whitening.release",
                "dpsk._stages.shrinkage:Shrinkage.release"),
    "passes": ("dpsk._sums.linear_sums:LinearSums.partial",
               "dpsk._sums.linear_sums:LinearSums.partial_curvature",
               "dpsk._sums.linear_sums:LinearSums.scores"),
    "noise": tuple(f"dpsk._privacy.noise.samplers:{law}" for law in (
        "standard_normal", "symmetric_normal", "laplace", "gamma_norm", "gumbel")),
    "accounting": ("dpsk._privacy.calibration:calibrate", "dpsk._fit:_priced",
                   "dpsk._privacy.ledger:Ledger.charge", "dpsk._charging.admission:admit"),
    "certificate": ("dpsk._fit:certify",),
}
REST = "rest"
SHAPES = ("200x10", "10000x20", "100000x20", "100000x100", "20000x1500", "groups", "classes",
          "csr")
#: Columns from which on a Gram is not measured: no fit makes one.
_MOST_GRAM = 4000
#: Bytes that no cache holds.
_LARGE = 1 << 27
_REPEATS = 3


class Clock:
    """Processor time of each phase, summed over threads, each function less those it calls."""

    def __init__(self):
        self.seconds, self._lock, self._inside = Counter(), threading.Lock(), threading.local()

    def timed(self, phase, function):
        """Return `function` with its time added to a phase."""
        @wraps(function)
        def wrapped(*args, **kwargs):
            outer = getattr(self._inside, "others", 0.0)
            self._inside.others = 0.0
            start = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                whole = time.thread_time() - start
                with self._lock:
                    self.seconds[phase] += whole - self._inside.others
                self._inside.others = outer + whole
        return wrapped


@contextmanager
def measured(clock):
    """Time the functions of all phases while the block runs."""
    undo = []
    try:
        for phase, names in PHASES.items():
            for name in names:
                undo += _replaced(name, lambda function, phase=phase: clock.timed(phase, function))
        yield
    finally:
        for owner, key, value in reversed(undo):
            setattr(owner, key, value)


def _replaced(name, wrap):
    """Replace a function wherever it is imported; return (owner, name, what was there)."""
    module, _, path = name.partition(":")
    *classes, key = path.split(".")
    owner = importlib.import_module(module)
    for each in classes:
        owner = getattr(owner, each)
    own = vars(owner)[key]
    new = classmethod(wrap(own.__func__)) if isinstance(own, classmethod) else wrap(own)
    owners = [owner] if classes else [
        each for at, each in list(sys.modules.items())
        if at.partition(".")[0] == "dpsk" and vars(each).get(key) is own]
    for each in owners:
        setattr(each, key, new)
    return [(each, key, own) for each in owners]


def make_table(shape, labels=True):
    """Return rows, targets and keywords of `fit` for a shape."""
    rng, given = np.random.default_rng(0), {}
    if shape == "csr":
        n_rows, columns, filled = 10**5, 10**4, 20
        places = np.repeat(np.arange(n_rows), filled), rng.integers(columns, size=n_rows * filled)
        X = sparse.csr_matrix((rng.standard_normal(n_rows * filled), places), (n_rows, columns))
    else:
        n_rows, columns = (10**5, 20) if shape in ("groups", "classes") else (
            map(int, shape.split("x")))
        X = rng.standard_normal((n_rows, columns))
    if shape == "groups":
        given["groups"] = rng.integers(3 * 10**4, size=X.shape[0])
    outputs = 40 if shape == "classes" else 1
    scores = X @ rng.standard_normal((X.shape[1], outputs)) * (2.0 / np.sqrt(X.shape[1]))
    if outputs > 1:
        return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1), given
    if labels:
        return X, (scores[:, 0] + rng.logistic(size=len(scores)) > 0).astype(int), given
    return X, np.tanh(scores[:, 0] + 0.3 * rng.standard_normal(len(scores))), given


def phases_of_fit(model, X, y, given, repeats=_REPEATS):
    """Return the seconds of each phase in the fastest fit, the rest last; their sum is the fit."""
    best = None
    for _ in range(repeats):
        clock = Clock()
        with measured(clock):
            start = time.process_time()
            model.fit(X, y, **given)
            whole = time.process_time() - start
        if best is None or whole < sum(best.values()):
            best = {phase: clock.seconds[phase] for phase in PHASES}
            best[REST] = whole - sum(best.values())
    return best


def bandwidth(n_bytes=_LARGE):
    """Return the bytes a second that one product reads from memory."""
    large = np.ones((n_bytes // 2**13, 2**10))
    (least,) = fastest(lambda: large @ np.ones(2**10), repeats=_REPEATS)
    return large.nbytes / least


def bounds(X, outputs, passes, speed):
    """Return the seconds in which memory is read in all passes, and those of plain arithmetic.

    Plain arithmetic is a Gram, where columns are few, and as many passes: a product with
    parameters and one with derivatives.
    """
    size = X.nbytes if not sparse.issparse(X) else (
        X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    point = np.full((X.shape[1], outputs) if outputs > 1 else X.shape[1], 0.01)
    (one_pass,) = fastest(lambda: X.T @ (X @ point), repeats=_REPEATS)
    arithmetic = passes * one_pass
    if X.shape[1] < _MOST_GRAM:
        arithmetic += fastest(lambda: X.T @ X, repeats=_REPEATS)[0]
    return passes * size / speed, arithmetic


def profile(shape, estimator, repeats, speed):
    """Return the seconds of the phases of a shape, passes and bounds."""
    model = getattr(dpsk, estimator)()
    X, y, given = make_table(shape, is_classifier(model))
    model.fit(X, y, **given)
    found = phases_of_fit(model, X, y, given, repeats)
    outputs = len(getattr(model, "classes_", ())) if shape == "classes" else 1
    return found, model.n_iter_, *bounds(X, outputs, model.n_iter_, speed)


def page(results, estimator, speed, threads, picture):
    """Yield the lines of the page, beside a picture of some name."""
    yield "# Profile of a fit"
    yield ""
    yield (f"`python benchmarks/speed/profile_fit.py`, {date.today()}. Milliseconds of processor "
           f"time of a default `{estimator}` fit, summed over threads; BLAS threads: {threads}. "
           "Entering: norms and truncation of rows. Moment: their second moment. Factors: linear "
           "algebra of released matrices. Passes: predictions and gradients. Bounds: all passes "
           f"at memory bandwidth ({speed / 1e9:.1f} GB/s), or as many plain passes and a Gram "
           "matrix.")
    yield ""
    yield f"![Shares of phases]({picture})"
    yield ""
    columns = ["shape", "passes", "fit", *PHASES, REST, "bound by memory", "by arithmetic"]
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for shape, (found, passes, *limits) in results.items():
        times = [sum(found.values()), *found.values(), *limits]
        yield f"| {shape} | {passes} | " + " | ".join(f"{1e3 * t:.3g}" for t in times) + " |"


def plot(results, path):
    """Draw the shares of phases, one bar a shape."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 1.2 + 0.35 * len(results)))
    totals = [sum(found.values()) for found, *_ in results.values()]
    names = [f"{shape} ({1e3 * whole:.3g} ms)" for shape, whole in zip(results, totals,
                                                                       strict=True)]
    start = np.zeros(len(results))
    for place, phase in enumerate((*PHASES, REST)):
        shares = np.array([100.0 * max(0.0, found[phase]) / whole for (found, *_), whole in zip(
            results.values(), totals, strict=True)])
        axis.barh(names, shares, left=start, color=f"C{place}", label=phase)
        start += shares
    axis.invert_yaxis()
    axis.set(xlabel="share of the fit, percent", xlim=(0, 100))
    axis.legend(fontsize=7, ncol=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shapes", nargs="*", default=SHAPES, metavar="SHAPE")
    parser.add_argument("--estimator", default="DPLogisticRegression")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=_REPEATS)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    with threadpool_limits(options.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        speed = bandwidth()
        results = {shape: profile(shape, options.estimator, options.repeats, speed)
                   for shape in options.shapes}
    picture = (options.output or Path("fit_phases")).with_suffix(".png")
    lines = list(page(results, options.estimator, speed, options.threads, picture.name))
    print("\n".join(lines))
    if options.output:
        put_tables(options.output, "\n".join(lines))
        plot(results, picture)


if __name__ == "__main__":
    main()
