"""Sources of rows for tests: blocks of arrays, as a file or a generator would give them."""

import numpy as np

__all__ = ["Blocks", "ChangingBlocks", "FailingBlocks"]


class Blocks:
    """Arrays in blocks.

    Parameters
    ----------
    X : ndarray or CSR matrix
    cuts : sequence of int
        Where blocks end.
    y, sample_weight : ndarray or None
        What comes with the blocks.
    cache_bytes : int
    """

    def __init__(self, X, cuts, y=None, sample_weight=None, cache_bytes=0):
        self.n, self.n_features = X.shape
        ends = [0, *cuts, self.n]
        self._slices = list(map(slice, ends[:-1], ends[1:]))
        self._given = [each for each in (X, y, sample_weight) if each is not None]
        self.cache_bytes, self.passes = cache_bytes, 0

    def blocks(self):
        """Yield the blocks."""
        self.passes += 1
        for part in self._slices:
            block = tuple(each[part] for each in self._given)
            yield block if len(block) > 1 else block[0]


class FailingBlocks(Blocks):
    """Blocks that cannot be read from some pass on, with an error that quotes data."""

    def __init__(self, *args, fails, how=ValueError, **kwargs):
        super().__init__(*args, **kwargs)
        self._fails, self._how = fails, how

    def blocks(self):
        for place, block in enumerate(super().blocks()):
            if place and self.passes >= self._fails:
                if self._how is not None:
                    raise self._how("row 17 holds 31337")
                block = np.asarray(block)[:-1]
            yield block


class ChangingBlocks(Blocks):
    """Blocks of which one row is another from some pass on."""

    def __init__(self, *args, changes, entry, **kwargs):
        super().__init__(*args, **kwargs)
        self._changes, self._entry = changes, entry

    def blocks(self):
        for place, block in enumerate(super().blocks()):
            if place == 1 and self.passes >= self._changes:
                block = block.copy()
                block[0, 0] = self._entry
            yield block
