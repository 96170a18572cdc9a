"""What a budget says where it refuses a fit, or cannot have its file."""

import errno
import os
import re
import threading
import warnings

import pytest

from dpsk import PrivacyBudget
from dpsk.accounting import (
    Gaussian,
    NotPrivate,
    Pure,
    SampledGaussian,
    epsilon,
    noise_multiplier,
)
from dpsk.exceptions import BudgetExceededError
from tests.instruments import charge_fit, rounded_down, rounded_up

DELTA = 1e-5


@pytest.mark.parametrize("kind, first, dear", [
    ("gaussian", Gaussian(0.1), Gaussian(0.5)), ("gaussian", Gaussian(0.1), NotPrivate()),
    ("renyi", Gaussian(0.1), Gaussian(0.5)), ("renyi", SampledGaussian(0.01, 2.0), Gaussian(0.5)),
    ("pure", Pure(0.25), Pure(0.9)), ("pure", Pure(0.25), Gaussian(0.1))])
def test_a_refusal_says_what_is_spent_and_left_in_epsilons(kind, first, dear):
    delta = 0.0 if kind == "pure" else DELTA
    with PrivacyBudget(1.0, delta, kind=kind) as budget:
        charge_fit(first)
        with pytest.raises(BudgetExceededError) as raised:
            charge_fit(dear)
    said = str(raised.value)
    left = rf"left: (as much as one of )?epsilon {rounded_down(budget.left(), 4)}( at delta=0)?\."
    assert re.search(left, said)
    if isinstance(first, (Gaussian, Pure)):
        spent = rounded_up(epsilon(first, delta), 4)
        assert re.search(rf"Spent: .*epsilon {spent}( at delta=.*)?; ", said)
    assert len(budget.charges) == 1


@pytest.mark.parametrize("kind, price", [("gaussian", Gaussian), ("pure", Pure)])
def test_an_exhausted_budget_says_how_much_was_spent(kind, price):
    delta = 0.0 if kind == "pure" else DELTA
    with PrivacyBudget(1.0, delta, kind=kind) as budget:
        most = budget.limits["mu^2"]**0.5 if kind == "gaussian" else 1.0
        charge_fit(price(most * (1 - 1e-11)))
        with pytest.raises(BudgetExceededError, match="Nothing is left") as raised:
            charge_fit(price(0.1))
    spent = epsilon(price(most), delta)
    assert re.search(rf"Spent: .*epsilon {spent:.4g}.*; left: .*epsilon 0[. ]", str(raised.value))


def test_groups_that_are_missing_are_refused_with_what_is_left():
    with PrivacyBudget(1.0, DELTA, unit="group") as budget, pytest.raises(
            BudgetExceededError, match=f"left: epsilon {rounded_down(budget.left(), 4)}"):
        charge_fit(Gaussian(0.1))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_file_that_may_not_be_written_is_refused_with_a_remedy(tmp_path, monkeypatch, number):
    path = tmp_path / "a.budget"
    budget, opened = PrivacyBudget(1.0, DELTA, path=path), os.open

    def forbidden(name, flags, *args):
        if str(name).startswith(str(tmp_path)) and flags & os.O_RDWR:
            raise OSError(number, os.strerror(number), name)
        return opened(name, flags, *args)

    with budget:
        monkeypatch.setattr(os, "open", forbidden)
        with pytest.raises(OSError, match=r"may not read and write .* chmod") as raised:
            charge_fit(Gaussian(0.1))
        assert raised.value.errno == number and "a.budget" in str(raised.value)
        for made in (lambda: PrivacyBudget(1.0, DELTA, path=tmp_path / "new.budget"),
                     lambda: PrivacyBudget.load(path)):
            with pytest.raises(OSError, match=r"give the path of a folder|dpsk\.verify"):
                made()
        monkeypatch.undo()
    assert budget.charges == []
    assert not (tmp_path / "new.budget").exists()


def test_other_errors_of_the_file_stay_as_they_are(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        PrivacyBudget.load(tmp_path / "nothing.budget")


def test_a_lock_that_is_waited_for_is_told_and_then_got(tmp_path, monkeypatch):
    monkeypatch.setattr("dpsk._privacy.journal._PATIENCE", 0.05)
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    told, done = threading.Event(), threading.Event()

    def holds():
        with budget._account.journal.locked():
            told.set()
            done.wait(20)

    holder = threading.Thread(target=holds)
    holder.start()
    told.wait(20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        other = threading.Thread(target=lambda: charges.append(budget.charges))
        charges = []
        other.start()
        for _ in range(400):
            if caught:
                break
            other.join(0.05)
        done.set()
        other.join(20)
        holder.join(20)
    assert charges == [[]]
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert "waits for the lock" in str(warning.message) and "a.budget" in str(warning.message)
    assert "do not remove or replace the file" in str(warning.message)


def test_a_lock_that_is_given_back_soon_is_not_told_of(tmp_path):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    held = threading.Event()

    def holds():
        with budget._account.journal.locked():
            held.set()
            threading.Event().wait(0.2)

    holder = threading.Thread(target=holds)
    holder.start()
    held.wait(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert budget.charges == []
    holder.join()


def test_a_first_fit_at_all_of_epsilon_is_told_what_is_kept():
    said = r"Spent: nothing; .*up to 2\.985 at delta=1e-06; .* Of .*, disclosure=1e-07 is kept"
    with PrivacyBudget(3.0, 1e-6), pytest.raises(BudgetExceededError, match=said):
        charge_fit(Gaussian(1 / noise_multiplier(lambda z: Gaussian(1 / z), 3.0, 1e-6)))


def test_an_unspent_pure_budget_speaks_of_no_gaussian_fit():
    with PrivacyBudget(1.0, 0.0), pytest.raises(
            BudgetExceededError, match=r"Spent: nothing; left: epsilon 1 at delta=0\."):
        charge_fit(Pure(2.0))
