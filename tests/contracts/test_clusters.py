"""Rows on a cluster: read anew on their way, and withheld from what workers say."""

import pickle
from functools import partial
from types import FunctionType

import numpy as np
import pytest

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


@pytest.mark.parametrize("fails", [lambda: np.bincount([0, 31337], np.ones(31337)),
                                   lambda: np.zeros(2)[31337], lambda: float("31337x"),
                                   lambda: {}["31337"]])
def test_words_of_compiled_code_are_withheld(fails):
    answer = _run(FunctionType(fails.__code__, {"__name__": "dpsk.part", "np": np}))
    assert isinstance(answer, Refusal) and "31337" not in answer.message
    ours = _run(check_weights, [-1.0], np.zeros((1, 1)), float)
    assert ours.kind is ValueError and ours.message.startswith("sample_weight: must be finite")
