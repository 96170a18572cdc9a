"""From raw tables to bounded rows."""

__all__ = []
