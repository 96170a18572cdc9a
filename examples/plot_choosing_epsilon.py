"""
Choosing epsilon
================

Two questions come before a fit: what will it cost in accuracy, and what can be found out about
one person? Both are answered from public numbers, before any row is looked at, so that choosing
costs nothing. No noise is drawn on this page.
"""

# %%
# What an epsilon will cost
# -------------------------
# ``plan_privacy`` predicts from the numbers of rows and columns by how much the mean loss of a
# linear model will exceed that without noise, with a range. Below 0.02, the dotted line, it is
# taken as good enough.

import matplotlib.pyplot as plt

from dpsk import plan_privacy
from dpsk.accounting import Gaussian, TradeOffCurveDisplay, type_two_error
from dpsk.planning import PrivacyPlanDisplay

figure, ax = plt.subplots(layout="constrained")
for rows in (500, 5_000, 50_000):
    plan = plan_privacy(rows, 30)
    PrivacyPlanDisplay.from_plan(plan, ax=ax)
    print(f"{rows} rows of 30 columns: suggested epsilon {plan.suggested_epsilon}")
ax.legend()
ax.set_title("Logistic regression on 30 columns")
plt.show()

# %%
# With 500 rows no epsilon of these is good enough: fewer columns would help, or more rows.
#
# What can be found out
# ---------------------
# Somebody who knows all other rows, and everything of one person, wants to tell from the model
# whether that person's row is in the table or another. Every test makes errors: it takes the row
# to be there when it is not (type I), or misses it (type II). No test gets below the curve. The
# dotted line is a coin.

plan = plan_privacy(5_000, 30, epsilon=[0.5, 1.0, 2.0, 4.0, 8.0])
figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for level, mu in zip(plan.epsilon, plan.mu, strict=True):
    TradeOffCurveDisplay.from_events(Gaussian(mu), ax=ax, name=f"epsilon {level:g}")
    found = 1 - type_two_error(Gaussian(mu), 0.05)
    print(f"epsilon {level:g}: a test that takes 5 % of the absent to be there finds at most "
          f"{found:.0%} of those who are")
ax.set_title(f"delta = {plan.delta:.0e}")
plt.show()

# %%
# The curves are those of Gaussian releases, as most solvers make them. The guarantee is a whole
# curve, of which (epsilon, delta) is one point. So small a delta makes epsilon look worse than
# the curve is: at epsilon 1 such a test finds eight of a hundred, where a coin finds five.
