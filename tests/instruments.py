"""Instruments that watch what fits charge and draw, or fix their draws."""

import hashlib
import math
import os
import threading
import time
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest

from dpsk import PrivacyBudget, _fit, _kinds, _progress
from dpsk._charging import admit, in_secret
from dpsk._data import groups
from dpsk._mechanism.session import Session
from dpsk._privacy.certificate_fields import rounded_down, rounded_up
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import streams

__all__ = ["charge_fit", "end_blocks", "fix_runs", "fixed_streams", "forbid_noise", "in_secret",
           "interrupt_releases", "know_all_code", "longest_rounds", "ordered_groups",
           "print_no_lines", "ranked", "repeat_noise", "repeated_stream", "rounded_down",
           "rounded_up", "watched_ledgers"]


def charge_fit(event):
    """Charge open budgets as a fit does whose cost is `event`, and return what was admitted."""
    return admit("a fit", event)


def fix_runs(monkeypatch, count):
    """Let searches draw `count` as the secret number of their runs."""
    monkeypatch.setattr(streams, "geometric", lambda *args: count)


def forbid_noise(monkeypatch, keyed=True):
    """Fail where noise is drawn, and with `keyed` where seeds draw, also public draws."""
    for stream in (streams.EntropyStream, *([streams.KeyedStream] if keyed else [])):
        monkeypatch.setattr(stream, "words", lambda self, count: pytest.fail("noise was drawn"))
    # Words that order groups are no noise, and are drawn as rows are read.
    monkeypatch.setattr(groups, "random_permutation", lambda _, count: np.arange(count))


def interrupt_releases(monkeypatch):
    """Let a keyboard interrupt end a fit where it would release something."""
    def interrupted(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "__call__", interrupted)


def know_all_code(monkeypatch):
    """Let a class count as known though a test has replaced its methods."""
    monkeypatch.setattr(_kinds, "is_intact", lambda cls: True)


def print_no_lines(monkeypatch):
    """Let no fit be slow enough to print how far it is."""
    monkeypatch.setattr(_progress, "_EVERY", math.inf)


def repeat_noise(monkeypatch, test):
    """Let fits in this process draw one stream of words that follows from the name of a test."""
    fresh, process, alone = streams.EntropyStream.words, os.getpid(), threading.Lock()
    key = hashlib.sha256(test.encode()).digest()[:16]
    bits = np.random.Philox(key=int.from_bytes(key, "little"))

    def words(self, count):
        if os.getpid() != process:
            # A fork would repeat the words of its parent.
            return fresh(self, count)
        with alone:
            return bits.random_raw(count)

    monkeypatch.setattr(streams.EntropyStream, "words", words)


def ranked(labels):
    """Return the groups of rows in the order of their labels; fits have them in secret order."""
    return groups.Groups.of(np.unique(labels, return_inverse=True)[1])


@contextmanager
def watched_ledgers():
    """Collect the ledgers that fits open."""
    opened = []

    class Kept(Ledger):
        def __init__(self, plan):
            super().__init__(plan)
            opened.append(self)

    with mock.patch.object(_fit, "Ledger", Kept):
        yield opened


@contextmanager
def fixed_streams():
    """Let one fit draw the same in public and for its noise, whatever the rows."""
    one_each = iter([streams.KeyedStream(b"public draws 0123"),
                     streams.KeyedStream(b"noise 0123456789")])
    with mock.patch.object(_fit, "open_stream", lambda *_: next(one_each)), ordered_groups():
        yield


@contextmanager
def repeated_stream(first=None):
    """Let every stream that fits open begin with the same words; `first` as in `ordered_groups`.
    """
    with (ordered_groups(first), mock.patch.object(
            _fit, "open_stream", lambda *_: streams.KeyedStream(b"0123456789abcdef"))):
        yield


@contextmanager
def ordered_groups(first=None):
    """Let groups have their indices in the order of labels, those that are read first by `first`.
    """
    given = iter(() if first is None else (first,))
    with mock.patch.object(groups, "random_permutation",
                           lambda _, count: next(given, np.arange(count))):
        yield


@contextmanager
def longest_rounds():
    """Let every public draw of a number of rounds be the largest."""
    with mock.patch.object(_fit, "random_index", lambda stream, stop: stop - 1):
        yield


#: Says to child processes within which blocks of budgets they are started.
_STARTED_WITHIN = "DPSK_STARTED_WITHIN"
#: What it has said in vain, beside what it said when tests began.
_LASTING = {os.environ.get(_STARTED_WITHIN)}


def end_blocks(seconds=2.0):
    """Wait until work that holds blocks of budgets open is done; what lasts is waited for once."""
    until = time.monotonic() + seconds
    while (said := os.environ.get(_STARTED_WITHIN)) not in _LASTING:
        # Blocks are looked at where another one is left.
        with PrivacyBudget(1.0, 1e-6):
            pass
        if time.monotonic() > until:
            _LASTING.add(said)
