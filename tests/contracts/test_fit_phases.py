"""The benchmark of the phases of a fit finds their functions, and all of the time.

That and others put their tables into pages.
"""

import importlib
from operator import attrgetter

import pytest

from benchmarks.measuring import put_tables
from benchmarks.speed import profile_fit
from dpsk import DPLogisticRegression


def test_phases_add_up_to_a_fit_and_each_takes_time():
    X, y, given = profile_fit.make_table("3000x8")
    found = profile_fit.phases_of_fit(DPLogisticRegression(), X, y, given, repeats=1)
    assert list(found) == [*profile_fit.PHASES, profile_fit.REST]
    assert all(seconds > 0.0 for seconds in found.values()), found


def test_every_function_of_a_phase_is_there_and_is_put_back():
    def functions():
        return [attrgetter(path)(importlib.import_module(module)) for names in
                profile_fit.PHASES.values() for module, path in (
                    name.split(":") for name in names)]

    before = functions()
    with profile_fit.measured(profile_fit.Clock()):
        assert not any(new == old for new, old in zip(functions(), before, strict=True))
    assert functions() == before


def test_a_timed_function_counts_without_what_it_calls(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(profile_fit.time, "thread_time", lambda: now[0])
    clock = profile_fit.Clock()

    def passing(seconds, then=None):
        now[0] += seconds
        if then is not None:
            then()

    inner = clock.timed("inner", passing)
    clock.timed("outer", passing)(1.0, lambda: (inner(2.0), inner(3.0)))
    assert clock.seconds == {"outer": 1.0, "inner": 5.0}


@pytest.mark.parametrize("estimator", ["DPLogisticRegression", "DPRidge"])
def test_a_page_has_a_line_for_every_shape_and_a_picture(estimator, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(profile_fit, "bandwidth", lambda: 1e9)
    path = tmp_path / "phases.md"
    profile_fit.main(["200x5", "300x4", "--repeats", "1", "--estimator", estimator,
                      "--output", str(path)])
    lines = [line for line in path.read_text().splitlines() if line.startswith("|")]
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["200x5", "300x4"]
    assert path.with_suffix(".png").stat().st_size > 1000


def test_tables_are_put_into_a_page_for_those_of_their_heads_and_prose_stays(tmp_path):
    page = tmp_path / "page.md"
    before = "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nProse.\n\n"
    page.write_text(before + "| c |\n|---|\n| 3 |\n")
    put_tables(page, "Words\n| c |\n|---|\n| 4 |\n| 5 |")
    assert page.read_text() == before + "| c |\n|---|\n| 4 |\n| 5 |\n"
    with pytest.raises(ValueError, match=r"no table with the head \| d \|"):
        put_tables(page, "| d |\n|---|\n\n| a | b |\n|---|---|\n| 6 | 7 |")
    assert "| 6 | 7 |" in page.read_text()
