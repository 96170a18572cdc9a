"""Calibration and the prices of events, against Fourier transforms of a fixed size."""

import sys

import numpy as np

from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Composed, Gaussian, Pure, Repeated, SampledGaussian

from .ratios import processor_ratio

FAMILIES = {
    "full batches": lambda z: Repeated(Gaussian(2 / z), 100),
    "Poisson batches": lambda z: Repeated(SampledGaussian(0.01, z), 1000),
    "few large batches": lambda z: Repeated(SampledGaussian(0.3, z), 20),
    "pure": lambda z: Repeated(Pure(1 / z), 20),
    "mixed": lambda z: Composed((Repeated(SampledGaussian(0.05, z), 40), Gaussian(1 / z))),
}


def _clear():
    """Forget what was worked out before."""
    for name, module in list(sys.modules.items()):
        if name.startswith("dpsk._privacy"):
            for thing in vars(module).values():
                if hasattr(thing, "cache_clear"):
                    thing.cache_clear()


class Calibration:
    """The noise multiplier of a declaration at epsilon 1 and delta 1e-6."""

    params = (sorted(FAMILIES),)
    param_names = ("family",)

    def setup(self, name):
        """Make what the yardstick transforms."""
        self.line = np.random.default_rng(0).standard_normal(2**18)

    def track_processor_time(self, name):
        """Return the time of a calibration over that of a transform of 2^18 numbers."""
        def calibrated():
            _clear()
            calibrate(FAMILIES[name], 1.0, 1e-6)

        return processor_ratio(calibrated, lambda: np.fft.rfft(self.line), repeats=5)

    track_processor_time.unit = "transforms"

    def track_noise_multiplier(self, name):
        """Return the multiplier itself: less is tighter."""
        return calibrate(FAMILIES[name], 1.0, 1e-6)

    track_noise_multiplier.unit = "standard deviations a bound"
