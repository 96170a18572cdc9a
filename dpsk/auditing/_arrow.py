"""Hidden contents of Arrow columns that their visible values do not show."""

__all__ = ["is_cut"]

#: Bytes by which the buffers of a whole string column exceed the size that Arrow reports.
_OFFSET = 8


def is_cut(column):
    """Return whether a column is a slice that keeps the buffers of a longer column."""
    of_arrow = getattr(getattr(column, "array", None), "_pa_array", None)
    return any(chunk.get_total_buffer_size() > chunk.nbytes + _OFFSET
               for chunk in getattr(of_arrow, "chunks", ()))
