"""How time and memory are measured, and where tables of what was found are put."""

import re
import time
import tracemalloc

import numpy as np

__all__ = ["fastest", "put_page", "put_tables", "traced_peak"]


def fastest(*functions, repeats, clock=time.process_time):
    """Return the least time of each function over interleaved runs, in seconds."""
    least = np.full(len(functions), np.inf)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = clock()
            function()
            least[i] = min(least[i], clock() - start)
    return least


def traced_peak(function):
    """Return the peak of memory traced during the call, in bytes."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _tables(lines):
    """Return where each table of Markdown begins and ends."""
    inside = np.array([line.startswith("|") for line in lines], dtype=int)
    edges = np.diff(inside, prepend=0, append=0)
    return list(zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True))


def put_page(page, text):
    """Write a page anew; the chart of the old one, by which it begins, stays below the title.

    Parameters
    ----------
    page : Path
    text : str
    """
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    chart = re.search(r"^```\{chart\}.*?^```\n\n", old, flags=re.MULTILINE | re.DOTALL)
    title, _, rest = text.partition("\n\n")
    parts = title, chart.group() if chart else "", rest
    page.write_text("\n\n".join(part.rstrip("\n") for part in parts if part) + "\n",
                    encoding="utf-8")


def put_tables(page, text):
    """Put the tables of a text into a page, each for the one of its head; the prose stays.

    A page that is not there yet is the text.

    Parameters
    ----------
    page : Path
    text : str

    Raises
    ------
    ValueError
        If a table has a head that none of the page has; the others are put there all the same.
    """
    if not page.exists():
        page.write_text(f"{text}\n", encoding="utf-8")
    new, old = text.splitlines(), page.read_text(encoding="utf-8").splitlines()
    tables = {new[start]: new[start:end] for start, end in _tables(new)}
    for start, end in reversed(_tables(old)):
        old[start:end] = tables.pop(old[start], old[start:end])
    page.write_text("\n".join([*old, ""]), encoding="utf-8")
    if tables:
        raise ValueError(f"{page} has no table with the head {' or '.join(tables)}")
