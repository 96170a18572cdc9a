"""Draws that give the error of a noisy metric."""

from dpsk.metrics._table import normal_draws


def test_a_metric_of_a_large_table_keeps_its_draws_within_memory():
    assert len(normal_draws((2, 16), "noise")) == 800
    assert len(normal_draws((600, 600), "noise")) < 30
    normal_draws.cache_clear()
