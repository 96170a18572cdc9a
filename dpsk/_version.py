"""The version, alone in its file so that anything may import it."""

__version__ = "0.1.0"
