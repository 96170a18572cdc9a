"""Charge the open budgets for every fit, in any thread or process."""

from dpsk._charging.account import Account, check_against, this_process
from dpsk._charging.admission import admit, enter, in_secret, is_alone, leave, open_budgets
from dpsk._charging.carried import Carries, paid_for
from dpsk._charging.facts import stating
from dpsk._charging.prepaid import Carried, Prepaid, paying

__all__ = ["Account", "Carried", "Carries", "Prepaid", "admit", "check_against", "enter",
           "in_secret", "is_alone", "leave", "open_budgets", "paid_for", "paying", "stating",
           "this_process"]
