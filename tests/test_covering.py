"""Covering sets of cases, which `make test` runs."""

import itertools

from tests.covering import covering_set

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
