"""Batch plans: the rows that each query reads, and the event of its noise.

One object draws the batches and names the event, so the sampler and the accountant
cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dpsk._privacy.events import Gaussian, NotPrivate, SampledGaussian
from dpsk._privacy.noise.streams import poisson_batches
from dpsk._privacy.sensitivity import REPLACE_ONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsk._privacy.elementary import Elementary
    from dpsk._privacy.noise.streams import Stream
    from dpsk._typing import IntArray

__all__ = ["BatchPlan", "FullBatch", "PoissonBatches", "batch_plan"]


@dataclass(frozen=True)
class FullBatch:
    """Every query reads every row."""

    def expected_size(self, n_samples: int) -> float:
        """Return the public number of rows by which a sum is divided."""
        return n_samples

    def largest_size(self, n_samples: int) -> float:
        """Return the number of rows in a sum."""
        return n_samples

    def release(self, noise_multiplier: float) -> Elementary:
        """Return the event of one noisy sum, which replace-one moves by two clip norms."""
        return Gaussian(REPLACE_ONE / noise_multiplier) if noise_multiplier else NotPrivate()

    def batches(self, stream: Stream, n_samples: int, count: int) -> Iterator[None]:
        """Yield None, which stands for all rows, `count` times."""
        for _ in range(count):
            yield None


@dataclass(frozen=True)
class PoissonBatches:
    """Every query reads each row independently with probability `sampling_rate`."""

    sampling_rate: float

    def expected_size(self, n_samples: int) -> float:
        """Return the public expected number of rows, by which a sum is divided."""
        return self.sampling_rate * n_samples

    def largest_size(self, n_samples: int) -> float:
        """Return a number of rows that a batch exceeds with probability below 1e-50."""
        # Chernoff: at most (e b / m)^m e^-b for m > b.
        return min(n_samples, 2.0 * self.expected_size(n_samples) + 100.0)

    def release(self, noise_multiplier: float) -> Elementary:
        """Return the event of one noisy sum over a Poisson sample."""
        if not noise_multiplier:
            return NotPrivate()
        return SampledGaussian(self.sampling_rate, noise_multiplier)

    def batches(self, stream: Stream, n_samples: int, count: int) -> Iterator[IntArray]:
        """Yield `count` arrays of row indices."""
        return poisson_batches(stream, n_samples, self.sampling_rate, count)


BatchPlan: TypeAlias = FullBatch | PoissonBatches


def batch_plan(n_samples: int, batch_size: float | None) -> BatchPlan:
    """Return the plan for an expected batch of `batch_size` rows (None: all of them)."""
    if batch_size is None or batch_size >= n_samples:
        return FullBatch()
    return PoissonBatches(batch_size / n_samples)
