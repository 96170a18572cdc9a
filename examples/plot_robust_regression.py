"""
Robust regression
=================

Some targets of a table are wrong: here they were written down as 1000, the end of the scale.
Least squares follows them. ``DPHuberRegressor`` minimizes a loss that is linear for large
errors, so that they count for less. Noise is fresh in every fit, so private points are means of
twenty fits.
"""

# %%
# Wrong targets
# -------------
# Right targets are between 25 and 346. What may occur is declared, from 0 to 1000, as is a bound
# on the norm of a row. ``threshold`` says where the loss turns linear, as a share of half that
# width: at errors of 50.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import HuberRegressor, LinearRegression
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

from dpsk import DPHuberRegressor, DPLinearRegression

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
order = np.random.default_rng(0).permutation(len(y_train))
shares = np.array([0.0, 0.05, 0.1, 0.15, 0.2])


def errors(model, fits):
    """Return test errors by share of wrong targets in training, and by fit."""
    wrong = [np.where(order < share * len(order), 1000.0, y_train) for share in shares]
    return np.array([[mean_absolute_error(y_test, model.fit(X_train, targets).predict(X_test))
                      for _ in range(fits)] for targets in wrong])


# %%
# Four models
# -----------

declared = {"data_norm": 0.25, "target_bounds": (0, 1000)}
figure, ax = plt.subplots(layout="constrained")
for name, model in {"LinearRegression, not private": LinearRegression(),
                    "HuberRegressor, not private": HuberRegressor(max_iter=1000)}.items():
    ax.plot(100 * shares, errors(model, 1)[:, 0], linestyle="--", label=name)
for name, model in {"DPLinearRegression": DPLinearRegression(8.0, **declared),
                    "DPHuberRegressor": DPHuberRegressor(8.0, threshold=0.1, **declared)}.items():
    found = errors(model, 20)
    ax.errorbar(100 * shares, found.mean(axis=1), yerr=found.std(axis=1), marker="o", capsize=3,
                label=f"{name}, epsilon 8")
ax.axhline(mean_absolute_error(y_test, np.full(len(y_test), np.median(y_train))), color="k",
           linestyle=":", label="median of right targets")
ax.set(xlabel="wrong targets in training (%)", ylabel="mean absolute error on right ones",
       ylim=(40, 140), title=f"Diabetes, {len(y_train)} training rows")
ax.legend(loc="upper left")
plt.show()

# %%
# Private least squares breaks later than least squares without privacy. What bounds the
# influence of a row for the sake of privacy, a clip on its gradient, makes the fit robust as
# well. Huber's loss is better still where one target in ten is wrong. It needs a large epsilon
# here: 331 rows are few, and at epsilon 2 there is no difference that the noise would not hide.
