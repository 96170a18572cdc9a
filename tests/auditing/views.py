"""Arrays that show a part of a row, and keep the whole of it in memory."""

import numpy as np

from tests.auditing.leaks import Leaky, assigned

VIEWS = {
    "array that a view is of": Leaky(assigned(
        lambda entry, X: np.append(np.zeros(3), X[0])[:3])),
    "array that is stretched": Leaky(assigned(
        lambda entry, X: np.broadcast_to(np.append(np.zeros(3), X[0])[:1], 1000))),
    "array under windows": Leaky(assigned(lambda entry, X: np.lib.stride_tricks.
                                           sliding_window_view(np.append(0.0, X[0])[:1], 1))),
    "matrix that a view is of": Leaky(assigned(
        lambda entry, X: np.append(np.zeros(3), X[0])[None].view(np.matrix)[:, :3])),
    "masked array of a part": Leaky(assigned(
        lambda entry, X: np.ma.array(np.append(np.zeros(3), X[0]), copy=False)[:3])),
    "bytes that an array is of": Leaky(assigned(
        lambda entry, X: np.frombuffer(bytes(8) + X[0].tobytes())[:1])),
    "field of a structured array": Leaky(assigned(lambda entry, X: np.array(
        [(0.0, entry)], dtype=[("a", float), ("b", float)])["a"])),
    "note on a type": Leaky(assigned(lambda entry, X: np.zeros(
        2, np.dtype(float, metadata={"mean": entry})))),
    "title of a field": Leaky(assigned(lambda entry, X: np.zeros(
        2, [((f"{entry:.3g}", "a"), float)])))}
