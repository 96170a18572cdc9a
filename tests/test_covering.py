"""Covering sets of cases, which `make test` runs."""

import itertools
from types import SimpleNamespace

import pytest

from tests.covering import covering_set, make_no_cases_of

_PRODUCT = ["-".join(case) for case in itertools.product("abc", "12345", "xy")]


def test_a_covering_set_has_every_value_of_every_parameter():
    chosen = covering_set(_PRODUCT)
    assert {value for one in chosen for value in one.split("-")} == set("abc12345xy")
    assert len(chosen) == 5


def test_a_covering_set_is_the_same_in_every_process():
    assert covering_set(_PRODUCT) == covering_set(list(_PRODUCT))


def test_a_covering_set_may_be_limited():
    assert covering_set(["one", "two", "three", "four", "five"], most=2) == ["one", "four"]
    assert covering_set(["one"], most=3) == ["one"]


def test_cases_of_a_mark_are_left_out_where_others_stay():
    rare, ids = pytest.param(2, marks=pytest.mark.audit), ["one", "two"]
    definition = SimpleNamespace(own_markers=[
        pytest.mark.parametrize("a", iter([1, rare])).mark, pytest.mark.thorough.mark,
        pytest.mark.parametrize("b", [rare]).mark,
        pytest.mark.parametrize("c", [1, rare], ids=ids).mark])
    make_no_cases_of("audit", definition)
    assert [mark.args[1] for mark in definition.own_markers if mark.args] == [
        [1], [rare], [1, rare]]
