"""Hidden contents of Arrow columns, beside the values that they show."""

__all__ = ["is_cut"]

#: Bytes by which Arrow counts a whole column of texts as shorter than its buffers.
_OFFSET = 8


def is_cut(column):
    """Return whether it is a column that keeps the buffers of a longer one, of which it is a part.
    """
    of_arrow = getattr(getattr(column, "array", None), "_pa_array", None)
    return any(chunk.get_total_buffer_size() > chunk.nbytes + _OFFSET
               for chunk in getattr(of_arrow, "chunks", ()))
