"""Releases before and after the solver's own. A new one is one file and one line here."""

from dpsk._stages.centring import Centring
from dpsk._stages.counting import Counting
from dpsk._stages.tempering import Tempering
from dpsk._stages.whitening import Whitening

__all__ = ["Centring", "Counting", "Tempering", "Whitening"]
