"""Rows on a cluster: read anew on their way, and withheld from what workers say."""

import pickle
from functools import partial
from types import FunctionType

import numpy as np
import pytest
from scipy import sparse

from dpsk._data.chunked import ReadChunks, checksum
from dpsk._data.cluster import Refusal, _run
from dpsk._data.weights import check_weights

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("default::"
                                                                              "UserWarning:dpsk")]


def test_rows_on_their_way_between_workers_are_read_anew():
    chunks = ReadChunks(partial(iter, [np.zeros((3, 2)), np.ones((1, 2))]), [(3, 2), (1, 2)],
                        [checksum(np.zeros((3, 2))), checksum(np.ones((1, 2)))])
    chunks.get(1)
    moved = pickle.loads(pickle.dumps(chunks))
    np.testing.assert_array_equal(moved.get(0), np.zeros((3, 2)))


_CSR = sparse.csr_matrix([[1.0, 0.0, 2.0], [0.0, 2.0, 0.0], [3.0, 0.0, 0.0]])
#: Another table of the same shape, by what of its storage is another.
OTHERS = {
    "values": (_CSR, sparse.csr_matrix((_CSR.data[::-1], _CSR.indices, _CSR.indptr), (3, 3))),
    "columns": (_CSR, sparse.csr_matrix((_CSR.data, [0, 1, 1, 0], _CSR.indptr), (3, 3))),
    "ends of rows": (_CSR, sparse.csr_matrix((_CSR.data, _CSR.indices, [0, 1, 3, 4]), (3, 3))),
    "order": (_CSR.toarray(), _CSR.toarray()[::-1]),
    "one value": (np.zeros((3, 2)), np.eye(3, 2) * 1e-300),
    "single": (np.ones((3, 2), np.float32), np.full((3, 2), 1.0 + 1e-7, np.float32)),
}


@pytest.mark.parametrize("first, second", OTHERS.values(), ids=OTHERS)
def test_another_table_in_a_later_pass_is_refused(first, second):
    for table in (first, second):
        chunks = ReadChunks(partial(iter, [table]), [first.shape], [checksum(first)])
        if table is first:
            assert chunks.get(0) is first
            continue
        with pytest.raises(RuntimeError, match="other rows"):
            chunks.get(0)


@pytest.mark.parametrize("fails", [lambda: np.bincount([0, 31337], np.ones(31337)),
                                   lambda: np.zeros(2)[31337], lambda: float("31337x"),
                                   lambda: {}["31337"]])
def test_words_of_compiled_code_are_withheld(fails):
    answer = _run(FunctionType(fails.__code__, {"__name__": "dpsk.part", "np": np}))
    assert isinstance(answer, Refusal) and "31337" not in answer.message
    ours = _run(check_weights, [-1.0], np.zeros((1, 1)), float)
    assert ours.kind is ValueError and ours.message.startswith("sample_weight: must be finite")
