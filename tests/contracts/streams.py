"""Streams that tests give to oracles."""

from dpsk._privacy.noise.streams import KeyedStream

__all__ = ["SilentStream"]


class SilentStream(KeyedStream):
    """A stream that fails when something is drawn from it."""

    def words(self, count):
        raise AssertionError("drawn")
