"""Code of services is known by its module and its globals."""

import asyncio
import asyncio.tasks
import sys
from functools import partial
from types import FunctionType, SimpleNamespace

import pytest

from dpsk._charging import services
from tests.charging.test_known_code import _Ends
from tests.charging.test_unfinished import budget, evaluated

pytestmark = pytest.mark.filterwarnings("ignore")


def _copied():
    """Return code of asyncio that calls a function of a caller by a name of its own."""
    known = asyncio.tasks._release_waiter
    return FunctionType(known.__code__, {}, "_release_waiter")


def test_code_with_other_globals_is_not_known():
    assert services.is_service_callback(asyncio.tasks._release_waiter)
    assert not services.is_service_callback(_copied())


def test_a_partial_that_holds_itself_is_not_known():
    held = partial(print)
    held.__setstate__((held, (), {}, {}))
    assert not services.is_service_callback(held)
    held.__setstate__((print, (), {}, {}))


@pytest.mark.parametrize("module", ["distributed.client", "tqdm._monitor"])
@pytest.mark.parametrize("masked", [None, SimpleNamespace()], ids=["none", "namespace"])
def test_modules_may_be_anything(monkeypatch, module, masked):
    monkeypatch.setitem(sys.modules, module, masked)
    with budget() as open_one:
        assert not services.is_service_callback(_Ends())
    evaluated()
    assert open_one.charges == []


def test_what_is_imported_later_is_known_then(monkeypatch):
    """A look while another thread imports a module must not be the last."""
    unknown = sys.modules.get("asyncio.tasks")
    monkeypatch.setitem(sys.modules, "asyncio.tasks", SimpleNamespace())
    assert not services.is_service_callback(unknown._release_waiter)
    monkeypatch.undo()
    assert services.is_service_callback(unknown._release_waiter)
