"""Dask collections, whose chunks stay on their workers.

Dask is imported only if a Dask collection is passed.
"""

import pickle
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from operator import attrgetter

import numpy as np
from scipy import sparse

from dpsk._data.cluster import Cluster
from dpsk._data.errors import discreetly
from dpsk._data.opening import Reader, check_targets, features_again, guarded, opened
from dpsk._data.parted import PartedRows
from dpsk._data.validation import check_block, check_part, is_dask
from dpsk._data.weights import check_weights

__all__ = ["delayed_chunks", "like_rows", "opened_dask", "whole_rows"]

#: Fraction of a worker's memory that may cache chunks, which are otherwise computed again.
_SHARE = 0.4


def opened_dask(estimator, X, y, sample_weight, weight_dtype, checks, target_checks):
    """Return the rows of Dask collections, validated in place, as `opened` does.

    The work runs on the workers of the current client. Without a client it runs in this process,
    one chunk after another.
    """
    like = check_block(estimator, like_rows(X), **checks)
    chunks = _Chunks(X, y, sample_weight, like.shape[1])
    client = _current_client()
    if client is None:
        return opened(estimator, chunks, None, None, weight_dtype, checks, target_checks)
    opening = partial(_open, type(estimator).__name__, {**checks, "dtype": like.dtype},
                      target_checks, weight_dtype(like))
    cluster, kept, order = chunks.placed(client, opening)
    found = cluster.fetch([attrgetter("sizes", "is_sparse")] * len(kept), kept)
    by_chunk = dict(zip(np.concatenate(order), np.concatenate([sizes for sizes, _ in found]),
                        strict=True))
    n = int(sum(by_chunk.values()))
    if n < 2:
        raise ValueError(f"Found array with {n} sample(s) (shape=({n}, {like.shape[1]})) while a "
                         f"minimum of 2 is required by {type(estimator).__name__}.")
    if len({is_sparse for _, is_sparse in found}) > 1:
        raise ValueError("X: some chunks are sparse and some are dense; let all be of one kind.")
    starts = [0, *accumulate(int(by_chunk[place]) for place in range(len(by_chunk)))]
    # Leave out places without rows.
    used = [place for place, (sizes, _) in enumerate(found) if sum(sizes)]
    kept, order, sizes = ([listed[place] for place in used]
                          for listed in (kept, order, [sizes for sizes, _ in found]))
    kept = cluster.keep([partial(_with_offsets, tuple(starts[place] for place in places), each)
                         for places, each in zip(order, sizes, strict=True)], kept)
    rows = PartedRows(cluster, kept, tuple(map(sum, sizes)), _runs(order, by_chunk, starts),
                      like.shape[1], like.dtype, found[0][1], sample_weight is not None)
    if sample_weight is not None and not any(rows.each(_some_weight)):
        raise ValueError("sample_weight: all weights are zero; at least one must not be.")
    return rows


class _Chunks:
    """Aligned chunks of features, targets and weights; a source as in `dpsk.sources`."""

    n, cache_bytes = None, 0

    def __init__(self, X, y, sample_weight, n_features):
        self.n_features = n_features
        X = whole_rows(X)
        collections = [X, *(None if given is None else _along(name, given, X)
                            for name, given in (("y", y), ("sample_weight", sample_weight)))]
        self._graphs = [each.__dask_graph__() for each in collections if each is not None]
        columns = _delayed_together(collections)
        for name, parts in zip(("y", "sample_weight"), columns[1:], strict=True):
            if parts is not None and len(parts) != len(columns[0]):
                raise ValueError(f"{name} has {len(parts)} chunks and X has {len(columns[0])}; "
                                 "give both the same partitions.")
        empty = [None] * len(columns[0])
        self._parts = list(zip(*(empty if parts is None else parts for parts in columns),
                               strict=True))

    def blocks(self):
        """Yield the chunks one after another, computed in this process."""
        import dask
        for parts in self._parts:
            yield dask.compute(*parts)

    def _are_held(self, client):
        """Return whether chunks depend on results that workers already hold for a client."""
        held = set(client.futures)
        return any(not held.isdisjoint(graph) for graph in self._graphs)

    def placed(self, client, opening):
        """Return a Cluster, and for each place a future of its rows and its chunk indices.

        Chunks that are on workers already stay there. Other chunks are computed again in every
        pass, one after another, by the task of their place.
        """
        from distributed import wait
        if self._are_held(client):
            futures = iter(client.compute([part for parts in self._parts for part in parts
                                           if part is not None]))
            parts = [[None if part is None else next(futures) for part in triple]
                     for triple in self._parts]
            wait([triple[0] for triple in parts])
            where = client.who_has([triple[0] for triple in parts])
            homes = [min(where.get(triple[0].key) or [""]) for triple in parts]
            order = {}
            for place, home in enumerate(homes):
                order.setdefault(home, []).append(place)
            given = [[[parts[place][kind] for place in places] for kind in range(3)]
                     for places in order.values()]
        else:
            workers = _workers(client)
            pieces = np.array_split(np.arange(len(self._parts)), len(workers))
            order = {worker: piece.tolist() for worker, piece in zip(workers, pieces, strict=True)
                     if len(piece)}
            given = [[_recipe([self._parts[place] for place in places])]
                     for places in order.values()]
        cluster, order = Cluster(client), list(order.values())
        opening = [partial(opening, len(order))] * len(order)
        return cluster, cluster.keep(opening, *zip(*given, strict=True)), order


def _open(name, checks, target_checks, weight_dtype, n_places, *given):
    """Return the validated rows of one of several places.

    `given` holds lists of chunks of features, targets and weights, or the `_recipe` of them.
    """
    held = len(given) == 3
    reader = Reader(held)
    for X, *beside in zip(*given, strict=True) if held else guarded(partial(_computed, *given)):
        reader.add(check_part(name, X, **checks), *beside)
    y, weights = reader.beside()
    # A place may have fewer than two rows.
    y = check_targets(name, y, reader.n, {**target_checks, "ensure_min_samples": 0})
    rows = reader.rows(y) if held else reader.rows(
        y, partial(features_again, partial(_computed, *given, 1), name, checks), _room(n_places))
    return replace(rows, weights=check_weights(weights, y, weight_dtype, whole=False))


def _room(n_places):
    """Return how many bytes this worker may cache, given the number of places."""
    from distributed import get_worker
    from distributed.system import MEMORY_LIMIT
    limit = get_worker().memory_manager.memory_limit
    # Workers without a memory limit share the memory of one machine.
    return int(_SHARE * (limit or MEMORY_LIMIT / n_places))


def _recipe(chunks):
    """Return the pickled keys and task graph of some chunks, without unneeded tasks."""
    import cloudpickle
    from dask.optimization import cull
    keys = [[None if part is None else part.key for part in parts] for parts in chunks]
    parts = [part for part in chain.from_iterable(chunks) if part is not None]
    # All chunks of a collection share one graph.
    graphs = {id(part.dask): part.dask for part in parts}.values()
    graph = dict(chain.from_iterable(each.items() for each in graphs))
    return cloudpickle.dumps((cull(graph, [part.key for part in parts])[0], keys))


def _computed(recipe, count=3):
    """Compute chunks here; yield the first `count` of features, targets and weights."""
    from dask import get
    from dask.optimization import cull
    graph, keys = pickle.loads(recipe)
    for each in keys:
        asked = [key for key in each[:count] if key is not None]
        made = iter(get(cull(graph, asked)[0], asked))
        yield tuple(None if key is None else next(made) for key in each[:count])


def _runs(order, sizes, starts):
    """Return a sorted tuple (first row, place, first row in that place) of all chunks."""
    runs = []
    for place, chunks in enumerate(order):
        inside = 0
        for chunk in chunks:
            if sizes[chunk]:
                runs.append((starts[chunk], place, inside))
            inside += int(sizes[chunk])
    return tuple(sorted(runs))


def _with_offsets(offsets, sizes, rows):
    # The rows may have been computed again after a worker was lost.
    if rows.sizes != sizes:
        raise RuntimeError("X could not be read again: chunks have other numbers of rows; they "
                           "must be the same every time. What was charged stays charged.")
    return replace(rows, offsets=offsets)


def _some_weight(rows):
    return bool(rows.weights.any())


def like_rows(X):
    """Return two rows with a collection's columns and dtypes, but not its entries."""
    if hasattr(X, "_meta_nonempty"):
        # Dask's example rows have missing values in nullable columns: fill them.
        return X._meta_nonempty.ffill().bfill()
    rows = np.zeros((2, *X.shape[1:]), X.dtype)
    return sparse.csr_matrix(rows) if sparse.issparse(X._meta) else rows


def _along(name, given, X):
    """Return targets or weights as a collection with the chunks of X, if known."""
    from dask import array
    sizes = X.chunks[0] if getattr(X, "chunks", None) else None
    known = sizes is not None and not np.isnan(sizes).any()
    lazy = is_dask(given)
    if lazy and not (known and hasattr(given, "rechunk") and not np.isnan(given.shape[0])):
        return given
    if not known:
        raise ValueError(f"{name} is in memory, and the sizes of the chunks of X are not known; "
                         f"give {name} as a collection of Dask with the same partitions.")
    given = given if lazy else discreetly(name, np.asarray, given)
    if given.ndim != 1 or given.shape[0] != sum(sizes):
        raise ValueError(f"{name} of shape {given.shape}: must be one value for each of the "
                         f"{sum(sizes)} rows.")
    return given.rechunk((sizes,)) if lazy else array.from_array(given, chunks=(sizes,))


def whole_rows(X):
    """Return a collection in which every chunk has all columns."""
    return X.rechunk({1: -1}) if getattr(X, "chunks", None) and X.numblocks[1] > 1 else X


def delayed_chunks(collection, optimize_graph=True):
    """Return a list of delayed objects, one per chunk of rows."""
    return np.ravel(collection.to_delayed(optimize_graph=optimize_graph)).tolist()


def _delayed_together(collections):
    """Return the delayed chunks of aligned collections, one list each, None for None.

    Tasks that several arrays share are computed once; frames are optimized one by one.
    """
    import dask
    arrays = [each if hasattr(each, "rechunk") else None for each in collections]
    # Fusion would copy shared tasks into each array.
    with dask.config.set({"optimization.fuse.active": False}):
        arrays = dask.optimize(*arrays)
    return [None if whole is None else delayed_chunks(whole) if each is None
            else delayed_chunks(each, optimize_graph=False)
            for each, whole in zip(arrays, collections, strict=True)]


def _workers(client):
    """Wait for at least one worker, and return the addresses of all workers."""
    client.wait_for_workers(1)
    # `scheduler_info` would not do: its background refresh leaves out the workers.
    return sorted(client.nthreads())


def _current_client():
    """Return the current client of Dask's distributed scheduler, or None."""
    try:
        from distributed import get_client
        client = get_client()
    except (ImportError, ValueError):
        return None
    if client.status != "running":
        return None
    if client.asynchronous:
        raise ValueError("X: the current client of Dask is asynchronous; fit beside one that is "
                         "not.")
    return client
