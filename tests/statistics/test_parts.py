"""Statistics by public parts of the rows, such as towns."""

import math
from functools import partial

import numpy as np
import pytest

from dpsk import PrivacyBudget
from dpsk.exceptions import PrivacyWarning
from dpsk.statistics import (
    describe,
    dp_count,
    dp_histogram,
    dp_mean,
    dp_median,
    dp_quantile,
    dp_std,
    dp_sum,
    dp_value_counts,
    dp_var,
)
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import GROUP_RELATION
from tests.statistics.test_statistics import BOUNDS, FRAME, N, X

NUMBERS, KEPT = FRAME[["age", "pay"]], ["c", "a"]
#: Of the rows of each part: the result of a call, and the exact one.
CALLS = {
    "histogram": (lambda **more: dp_histogram(FRAME["pay"], [0.0, 10.0, 40.0], **more)[0],
                  lambda own: np.histogram(own["pay"].dropna(), [0.0, 10.0, 40.0])[0]),
    "bins in bounds": (lambda **more: dp_histogram(X, 4, bounds=(0, 40), **more)[0],
                       lambda own: np.histogram(X[own.index], 4, (0, 40))[0]),
    "value counts": (lambda categories=None, **more: dp_value_counts(
        FRAME["old"], [True, False], by_categories=categories, **more)[0],
        lambda own: [own["old"].sum(), (~own["old"]).sum()]),
    "median": (lambda **more: dp_median(FRAME["pay"], **more), lambda own: own["pay"].median()),
    "quantiles": (lambda **more: dp_quantile(NUMBERS, [0.25, 0.9], bounds=BOUNDS, **more),
                  lambda own: own[["age", "pay"]].quantile([0.25, 0.9])),
    "described mean": (lambda **more: describe(FRAME, columns={"age": (17, 90), "job": ["a"]},
                                               **more)["age"]["mean"],
                       lambda own: own["age"].mean()),
    "described quartile": (lambda **more: describe(NUMBERS, **more)["pay"]["75%"],
                           lambda own: own["pay"].quantile(0.75)),
    "described counts": (lambda **more: describe(FRAME[["old"]], **more)["old"][0],
                         lambda own: [(~own["old"]).sum(), own["old"].sum()])}
every_call = pytest.mark.parametrize("name", CALLS)


@every_call
@pytest.mark.filterwarnings("ignore:epsilon=inf")
def test_statistics_of_parts_are_those_of_their_rows_with_intervals_that_hold_them(name):
    """The seed is one of those whose intervals of four deviations cover."""
    call, exact = CALLS[name]
    known = np.array([exact(FRAME[FRAME["job"] == job]) for job in KEPT])
    found = call(by=FRAME["job"], categories=KEPT, epsilon=np.inf)
    np.testing.assert_allclose(found.value, known, rtol=6e-3)
    noisy = call(by=FRAME["job"], categories=KEPT, epsilon=2.0, random_state=NoiseSeed(1))
    assert (np.abs(noisy.value - known) <= 4.0 * noisy.standard_error).all()
    assert "the categories of by" in str(noisy.privacy_)


@every_call
def test_the_price_and_the_error_do_not_follow_the_number_of_parts(name):
    call, _ = CALLS[name]
    few, many = (call(by=FRAME["job"], categories=[*"abc", *map(str, range(more))], epsilon=20.0,
                      random_state=NoiseSeed(0)) for more in (0, 30))
    assert few.privacy_.event == many.privacy_.event
    assert many.value.shape == (33, *few.value.shape[1:])
    assert 0.3 < np.max(many.standard_error[:3]) / np.max(few.standard_error) < 3.0


@every_call
def test_rows_of_no_part_change_no_part_and_people_count_once(name):
    call, exact = CALLS[name]
    found = call(by=FRAME["job"], categories=KEPT, epsilon=8.0, groups=np.arange(N),
                 random_state=NoiseSeed(0))
    assert found.privacy_.relation == GROUP_RELATION
    known = np.array([exact(FRAME[FRAME["job"] == job]) for job in KEPT])
    assert (np.abs(found.value - known) <= 5.0 * found.standard_error).all()


def test_a_part_without_rows_has_a_median_of_nan_and_says_why():
    found = dp_median(X, by=FRAME["job"], categories=["a", "z"], epsilon=8.0)
    assert np.isnan(found.value).tolist() == [False, True] and "noise hides" in found.note
    assert np.isinf(found.standard_error[1]) and found.interval()[0][1] == -np.inf
    with pytest.warns(PrivacyWarning, match=f"n={N} rows in 400 parts are too few"):
        dp_median(X, by=FRAME["job"], categories=[*"abc", *map(str, range(397))])


def test_a_description_by_parts_has_a_line_for_each():
    found = describe(FRAME, 8.0, columns={"job": ["a"]}, by=FRAME["job"], categories=[*"abz"],
                     random_state=NoiseSeed(0))
    assert found.parts == [*"abz"] and "missing" not in found["age"]
    text = repr(found)
    assert sum(line.startswith(("age  ", "pay  ")) for line in text.splitlines()) == 6
    assert text.count("nan") > 3 and "noise hides" in text and "noise hides" in found._repr_html_()


@pytest.mark.filterwarnings("ignore:epsilon=inf")
@pytest.mark.parametrize("call, exact", [
    (dp_count, "count"), (partial(dp_sum, bounds=BOUNDS), "sum"), (dp_mean, "mean"),
    (partial(dp_var, bounds=BOUNDS), lambda own: own.var(ddof=0)),
    (partial(dp_std, bounds=BOUNDS), lambda own: own.std(ddof=0))])
def test_moments_of_parts_are_those_of_pandas_with_intervals_that_hold_them(call, exact):
    """The seed is one of those whose intervals of four deviations cover."""
    jobs, kept, numbers = FRAME["job"], KEPT, NUMBERS
    known = numbers.groupby(jobs).agg(exact).loc[kept].to_numpy()
    found = call(numbers, by=jobs, categories=kept, epsilon=np.inf)
    np.testing.assert_allclose(found.value, known, rtol=2e-3)
    noisy = call(numbers, by=jobs, categories=kept, epsilon=2.0, random_state=NoiseSeed(1))
    assert (np.abs(noisy.value - known) < 4.0 * noisy.standard_error).all()
    assert "the categories of by" in str(noisy.privacy_)
    one = call(FRAME["pay"], by=jobs.astype("category"), epsilon=np.inf)
    np.testing.assert_allclose(one.value[[2, 0]], known[:, 1], rtol=2e-3)


def test_other_parts_add_no_noise_and_users_count_once():
    few, many = (dp_mean(X, bounds=BOUNDS, by=np.arange(N) % 2, categories=[*range(1 + more)],
                         random_state=NoiseSeed(0)).privacy_.event for more in (0, 50))
    assert few == many
    errors = [dp_sum(X, bounds=BOUNDS, by=np.arange(N) % 2, categories=[*range(1 + more)])
              .standard_error[0] for more in (0, 50)]
    assert errors[0] == errors[1]
    found = dp_mean(X, bounds=BOUNDS, by=np.arange(N) % 2, categories=[0, 1], epsilon=8.0,
                    groups=np.arange(N) // 2, random_state=NoiseSeed(0))
    assert GROUP_RELATION in str(found.privacy_.relation)
    assert np.abs(found.value - [X[::2].mean(), X[1::2].mean()]).max() < 2.0


def test_two_scales_of_noise_on_the_same_parts_are_no_multiples_of_each_other():
    """With squares noise was sqrt(2) as large, and of one seed the same: that gave counts away."""
    found = []
    for population in (False, True):
        with taped() as tape:
            dp_mean(X, bounds=BOUNDS, by=np.arange(N) % 2, categories=[0, 1],
                    population=population, random_state=NoiseSeed(0))
        found.append(np.ravel(tape.answers[0][0] if population else tape.answers[0]))
    once, twice = found
    told = (math.sqrt(2.0) * once - twice)[:2] / (math.sqrt(2.0) - 1.0)
    assert (np.abs(told - N / 2) > 1.0).all()


@pytest.mark.parametrize("options, message", [
    ({"by": FRAME["job"]}, "declare them in categories="),
    ({"categories": ["a"]}, "give by="),
    ({"by": FRAME["job"], "categories": "abc"}, "list of categories"),
    ({"by": FRAME["job"][:5], "categories": ["a"]}, f"one column of {N} rows"),
    ({"by": FRAME, "categories": ["a"]}, "by: ")])
def test_parts_that_are_not_known_in_public_are_refused_before_a_charge(options, message):
    with PrivacyBudget(1.0, 1e-6) as budget, pytest.raises(ValueError, match=message):
        dp_mean(X, **options)
    assert not budget.charges


def test_both_lists_of_categories_of_value_counts_have_names_of_their_own():
    with PrivacyBudget(1.0, 1e-6) as budget:
        for options, message in [({"by": FRAME["job"]}, "declare them in by_categories="),
                                 ({"by_categories": ["a"]}, "by_categories: .* give by=")]:
            with pytest.raises(ValueError, match=message):
                dp_value_counts(FRAME["old"], **options)
    assert not budget.charges
