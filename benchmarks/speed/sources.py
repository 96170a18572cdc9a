"""Tables beyond memory: peaks, passes over a mapped file, workers of Dask.

    python benchmarks/speed/sources.py memory
    python benchmarks/speed/sources.py map --folder /tmp       # 8 GB of disk; root drops the cache
    python benchmarks/speed/sources.py dask
    python benchmarks/speed/sources.py huge

Each prints lines of docs/results/large_data.md. Rows are Gaussian, labels logistic. One BLAS
thread a process: OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1.
"""

import argparse
import os
import resource
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from dpsk import DPLogisticRegression

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import traced_peak

COLUMNS = 20
WEIGHTS = np.linspace(-0.5, 0.5, COLUMNS, dtype=np.float32)


def make(n, columns=COLUMNS, dtype=np.float32, seed=0):
    """Return Gaussian rows and logistic labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, columns), dtype=np.float32).astype(dtype, copy=False)
    return X, labels(X, seed)


def labels(X, seed):
    score = X[:, :COLUMNS] @ WEIGHTS[:X.shape[1]]
    noise = np.random.default_rng(10**6 + seed).logistic(size=len(X))
    return (score + noise > 0).astype(np.int8)


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def fit(X, y, **params):
    return DPLogisticRegression(classes=[0, 1], **params).fit(X, y)


def memory(folder):
    """Print peaks of traced memory over the table."""
    for n, columns, dtype in ((300_000, 20, np.float64), (300_000, 20, np.float32),
                              (60_000, 400, np.float32)):
        X, y = make(n, columns, dtype)
        peak = traced_peak(lambda X=X, y=y: fit(X, y))
        print(f"| {n} x {columns} {np.dtype(dtype).name} | {peak / X.nbytes:.2f} |")
    X = sparse.random(300_000, 105, density=0.13, format="csr", random_state=0)
    y = make(300_000)[1]
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    print(f"| 300000 x 105 CSR | {traced_peak(lambda: fit(X, y)) / size:.2f} |")
    several = np.arange(300_000) % 10
    peak = traced_peak(lambda: DPLogisticRegression(classes=range(10)).fit(X, several))
    print(f"| 300000 x 105 CSR, ten classes | {peak / size:.2f} |")
    X, y = make(4_000_000)
    path = Path(folder, "rows.npy")
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    peak = traced_peak(lambda: fit(mapped, y))
    print(f"| 4000000 x 20 float32, mapped | {peak / 2**20:.0f} MB, {peak / len(y):.1f} bytes a "
          "row |")
    path.unlink()


def map_file(folder):
    """Print passes over a file that is mapped, the page cache dropped, over plain reading."""
    n, path = 80_000_000, Path(folder, "rows.npy")
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, COLUMNS))
    y = np.empty(n, np.int8)
    for place in range(80):
        rows = slice(place * 10**6, (place + 1) * 10**6)
        X[rows], y[rows] = make(10**6, seed=place)
    X.flush()
    del X

    def read():
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass

    drop()
    plain, _ = seconds(read)
    mapped = np.load(path, mmap_mode="r")
    small = np.array(mapped[:10**6])
    kernel = time_of_a_pass(small, y[:10**6]) * n / 10**6
    drop()
    passes = time_of_a_pass(mapped, y)
    print(f"| {mapped.nbytes / 1e9:.1f} GB | reading {plain:.1f} s | kernel in memory "
          f"{kernel:.1f} s | a pass {passes:.1f} s | ratio {passes / max(plain, kernel):.2f} |")
    drop()
    total, model = seconds(lambda: fit(mapped, y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| default fit | {total:.0f} s, {model.n_iter_} steps of {model.privacy_.solver} | "
          f"{peak:.1f} GB resident, mapped pages included |")
    path.unlink()


def time_of_a_pass(X, y, steps=3, repeats=1):
    """Return the seconds of one more pass of a descent, from the least of several fits."""
    few, more = (min(seconds(lambda most=most: fit(X, y, solver="gd", max_iter=most,
                                                   data_norm=10.0))[0] for _ in range(repeats))
                 for most in (1, 1 + steps))
    return (more - few) / steps


def drop():
    """Drop the page cache, where that is allowed."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError as error:
        print(f"(the page cache stays: {type(error).__name__})")


@contextmanager
def workers(count=2, memory_limit=0):
    """Yield a client of so many worker processes of one thread; 0 is no limit."""
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None,
                      memory_limit=memory_limit, silence_logs=50) as cluster:
        with Client(cluster) as client:
            yield client


def collections(n, chunks):
    """Return rows and labels as arrays of Dask that workers make."""
    import dask
    from dask import array
    size = n // chunks
    parts = [dask.delayed(make, pure=True, nout=2)(size, seed=seed) for seed in range(chunks)]
    X = array.concatenate([array.from_delayed(rows, (size, COLUMNS), np.float32)
                           for rows, _ in parts])
    return X, array.concatenate([array.from_delayed(y, (size,), np.int8) for _, y in parts])


def resident(client):
    """Return the peak of resident memory of every worker, GB."""
    found = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return ", ".join(f"{value / 2**20:.1f}" for value in found.values())


def dask_fits(folder):
    """Print fits of 10^7 persisted rows, beside scikit-learn in memory, and overheads."""
    from distributed import wait
    n = 10**7
    with workers() as client:
        for chunks in (20, 1000):
            X, y = client.persist(collections(n, chunks))
            wait([X, y])
            runs = [seconds(lambda X=X, y=y: fit(X, y)) for _ in range(3)]
            least = min(time for time, _ in runs)
            print(f"| dpsk, {chunks} chunks | {least:.1f} s, {runs[0][1].n_iter_} steps of "
                  f"{runs[0][1].privacy_.solver} | workers {resident(client)} GB |")
            del X, y
        for chunks in (20, 1000):
            X, y = client.persist(collections(1000 * chunks, chunks))
            wait([X, y])
            passes = 1e3 * time_of_a_pass(X, y, 20, 5)
            # What a worker would take for its rows in one piece.
            sums = 1e3 * time_of_a_pass(*make(500 * chunks), 20, 5)
            print(f"| a pass over {chunks} chunks of 1000 rows | {passes:.0f} ms, {sums:.0f} ms "
                  f"of them for sums: an overhead of {passes - sums:.0f} ms |")
            del X, y
    X, y = make(n)
    print(f"| scikit-learn's LogisticRegression in memory | "
          f"{seconds(lambda: LogisticRegression().fit(X, y))[0]:.1f} s |")
    print(f"| dpsk in memory | {seconds(lambda: fit(X, y))[0]:.1f} s |")


def huge(folder):
    """Print fits of 10^8 rows that no worker holds as they came, with room for caches and none."""
    for words, limit in (("whole units are kept", 0), ("no room for them", "3GB")):
        with workers(memory_limit=limit) as client:
            X, y = collections(10**8, 400)
            total, model = seconds(lambda X=X, y=y: fit(X, y))
            print(f"| 10^8 x {COLUMNS} float32, made anew where they are read, {words} | "
                  f"{total:.0f} s, {model.n_iter_} steps of {model.privacy_.solver} | workers "
                  f"{resident(client)} GB | coefficients off by "
                  f"{np.abs(model.coef_[0] - WEIGHTS).max():.4f} |", flush=True)


PARTS = {"memory": memory, "map": map_file, "dask": dask_fits, "huge": huge}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--folder", type=Path, default=Path("/tmp"))
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PARTS[args.part](args.folder)
