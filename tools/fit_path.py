"""Count the calls of a fit within the package, and how often a reader changes file on its way.

    python tools/fit_path.py
    python tools/fit_path.py --solver sgd --whole

A change of file is a call into, or a return to, another file than the one before.
"""

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import dpsk
from dpsk._fit import fit_private

_HOME = str(Path(dpsk.__file__).parent)


class Seen:
    """What a profiler sees of calls in the package, inside those of one function or of all.

    Parameters
    ----------
    start : code object or None
    """

    def __init__(self, start):
        self._start, self._inside, self._files = start, 0, []
        self.calls, self.changes, self.causes = Counter(), 0, Counter()

    def __call__(self, frame, event, _):
        code = frame.f_code
        if code is self._start and event in ("call", "return"):
            self._inside += 1 if event == "call" else -1
        if not code.co_filename.startswith(_HOME) or (self._start is not None
                                                      and not self._inside):
            return
        if event == "call":
            self._enter(code)
        elif event == "return" and self._files:
            self._leave()

    def _enter(self, code):
        name = code.co_filename
        self.calls[name, code.co_qualname] += 1
        if self._files and self._files[-1] != name:
            self.changes += 1
            self.causes[name.removeprefix(_HOME)] += 1
        self._files.append(name)

    def _leave(self):
        left = self._files.pop()
        self.changes += bool(self._files) and self._files[-1] != left


def measured(solver, whole, **stages):
    """Return what one step of a fit passes through, once caches are filled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10))
    y = (X[:, 0] > 0).astype(int)
    model = dpsk.DPLogisticRegression(solver=solver, max_iter=1, data_norm=4.0, **stages)
    model.fit(X, y)
    seen = Seen(None if whole else fit_private.__code__)
    sys.setprofile(seen)
    model.fit(X, y)
    sys.setprofile(None)
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solver", default="gd")
    parser.add_argument("--whole", action="store_true",
                        help="all of `fit`, not only its private part")
    parser.add_argument("--stages", action="store_true", help="with what is released beside")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    seen = measured(args.solver, args.whole, **({} if args.stages else {
        "precondition": False, "temperature": False}))
    files = {name for name, _ in seen.calls}
    print(f"{sum(seen.calls.values())} calls of {len(seen.calls)} functions in {len(files)} "
          f"files, {seen.changes} changes of file")
    for name, count in seen.causes.most_common(10):
        print(f"{count:5d} into {name}")


if __name__ == "__main__":
    main()
