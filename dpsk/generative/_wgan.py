"""Sampler from a generator that is trained against a private critic."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.source import Rows
from dpsk._docs import documented
from dpsk._models import MLP
from dpsk._models.column_code import ColumnCode
from dpsk._models.generator import Generator
from dpsk._objective.penalties import PENALTIES
from dpsk._objective.saddle.critic import CriticScore
from dpsk._parameters import check_integer, check_layers, choice, number, optional
from dpsk._problem import Problem
from dpsk._solvers import ADVERSARIAL_SOLVERS
from dpsk._stages import Counting
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning
from dpsk.generative._columns import PLAIN_BOUNDS, ColumnSampler, enforced_bounds
from dpsk.generative._starting import Starting, starting_pays

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPWGAN"]

#: Rows drawn at a time.
_BLOCK = 1 << 12


@documented
class DPWGAN(ColumnSampler):
    r"""Synthetic data from a Wasserstein GAN, trained with differential privacy.

    A critic D and a generator G, both fully connected, play

    .. math:: \min_G \max_D \; \frac1n \sum_i D_{y_i}(x_i) - E_{z, c}\, D_c(G_c(z))
              - \frac{\alpha}{2} \|D\|^2

    with an output of the critic and a head of the generator for every class. The generator starts
    from normal distributions of the classes, which are released first, as by `DPGaussianSampler`:
    its heads are fitted to rows drawn from them. Then only the critic sees rows of the table, so
    only its gradient is clipped and noised, and the generator learns from the critic. On digits,
    this adds little to the start: see ``docs/results/synthetic_data.md``.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    hidden_layer_sizes : int or sequence of int, default=(256,)
        Sizes of the hidden layers of the critic.
    generator_hidden_layer_sizes : int or sequence of int, default=(256,)
        Sizes of the hidden layers of the generator.
    n_noise : int, default=64
        Number of normal variables from which a row is generated.
    columns : dict or None, default=None
        Public possible values of columns, by name in a DataFrame or position in an array: a list
        of categories, or a tuple of bounds of numbers. Categories of a categorical or boolean
        dtype need not be declared, and are *taken as public*.
    feature_range : (float, float) or None, default=None
        Public bounds of numeric columns that `columns` does not name; numbers outside are
        clipped. None: (-1, 1), with a `dpsk.exceptions.PrivacyWarning` if there are such columns.
    alpha : float, default=0.1
        Strength of the l2 penalty on the weights of the critic.
    init : {"auto", "moments", "random"}, default="auto"
        Start of the generator. "moments": normal distributions of the classes, for half of
        ``mu^2``. "random": normal weights. "auto": "moments" for up to 2000 network columns.
    solver : {"auto", "sgda", "privatediff"}, default="auto"
        "auto" is "sgda".
    max_iter : int or None, default=None
        Number of rounds of two steps of the critic and one of the generator. None: ``10 mu``
        within [10, 100], or from normal weights ``85 mu`` within [50, 1000].
    learning_rate : float or None, default=None
        Learning rate of the critic's Adam steps. None: 2e-3.
    batch_size : int or None, default=None
        Expected number of rows of a Poisson batch. None: a 15th of the rows,
        within [256, 8192].
    clip_norm : float or None, default=None
        Bound on the gradient of one row's score. None: 1.
    %(classes)s
    solver_options : dict or None, default=None
        ``critic_steps``, ``generator_learning_rate``, ``momentum`` and ``averaging``; for
        "privatediff" also ``period``; see "Solvers" in the documentation.
    random_state : int, NoiseSeed or None, default=None
        An int repeats the start and the inputs of the generator in training, which are public.
        Privacy noise is fresh in every fit, unless a `dpsk.testing.NoiseSeed` repeats it, for
        tests: not private for anyone who knows the seed.
    %(verbose)s

    Attributes
    ----------
    coefs_ : list of ndarray
        Weights of the layers of the critic.
    intercepts_ : list of ndarray
        Biases of the layers of the critic.
    generator_ : ndarray of shape (n_weights,)
        All weights of the generator.
    class_prior_ : ndarray of shape (n_classes,)
        Released proportions of the classes; only with labels.
    %(classes_)s
        Only with labels.
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_columns)s

    See Also
    --------
    DPGaussianSampler : Normal rows of each class.
    DPTreeSampler : For columns of any kind, categorical ones included.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label
    included, the fitted attributes are (epsilon, delta)-differentially private, and so is all that
    is ever drawn. Released: the mean and the second moment of rows and those of the classes, with
    a bound on rows less the mean where rows suffice to learn one (from normal weights noisy counts
    of the classes in their place), and noisy sums of the critic's clipped gradients over Poisson
    batches. The generator's start and steps are post-processing and free. The number of rows and
    columns, names, dtypes, categories, the set of labels and all parameters are public.

    References
    ----------
    Zhang, Lei, Ding, Xiang, Xu, Wang (2025), section 9.2, whose networks have hidden layers of
    512 and 256 units, and of 256, 512 and 1024 behind 128 normals; Arjovsky, Chintala, Bottou
    (2017).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPWGAN
    >>> X, y = load_digits(return_X_y=True)
    >>> sampler = DPWGAN(epsilon=10.0, delta=1e-5, feature_range=(0, 16), max_iter=5,
    ...                  hidden_layer_sizes=32, generator_hidden_layer_sizes=32,
    ...                  classes=range(10))
    >>> rows, labels = sampler.fit(X, y).sample(100, random_state=0)
    >>> rows.shape, labels.shape
    ((100, 64), (100,))
    """

    _solvers: ClassVar[dict] = ADVERSARIAL_SOLVERS
    _constraints: ClassVar[dict] = {
        **ColumnSampler._constraints,
        "n_noise": lambda name, value: check_integer(name, value, low=1, high=10**5,
                                                     remedy="an int in [1, 100000]"),
        "hidden_layer_sizes": check_layers,
        "generator_hidden_layer_sizes": check_layers,
        "feature_range": optional(lambda name, value: _ends(name, value)),
        "alpha": number("a number >= 0", low=0),
        "init": choice("auto", "moments", "random"),
    }

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 hidden_layer_sizes: int | Sequence[int] = (256,),
                 generator_hidden_layer_sizes: int | Sequence[int] = (256,), n_noise: int = 64,
                 columns: dict[Any, Any] | None = None,
                 feature_range: tuple[float, float] | None = None, alpha: float = 0.1,
                 init: str = "auto", solver: str = "auto", max_iter: int | None = None,
                 learning_rate: float | None = None, batch_size: int | None = None,
                 clip_norm: float | None = None, classes: ArrayLike | None = None,
                 solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.hidden_layer_sizes = hidden_layer_sizes
        self.generator_hidden_layer_sizes = generator_hidden_layer_sizes
        self.n_noise = n_noise
        self.columns = columns
        self.feature_range = feature_range
        self.alpha = alpha
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.clip_norm = clip_norm
        self.classes = classes
        self.solver_options = solver_options
        self.random_state = random_state
        self.verbose = verbose

    def _fitted_to(self, X, codes, n_classes):
        """Train on validated rows, and return the fitted attributes by name."""
        columns = self._bounded(self._described)
        code = _code(columns)
        epsilon, delta = self._budget(len(X))
        critic = MLP(code.width, self._sizes("hidden_layer_sizes"),
                     None if n_classes == 1 else n_classes)
        problem = Problem(
            n_samples=len(X), model=critic, loss=CriticScore((1.0 / n_classes,) * n_classes),
            penalty=PENALTIES["l2"](alpha=float(self.alpha), l1_ratio=0.0, radius=None,
                                    unpenalized=critic.n_biases),
            epsilon=epsilon, delta=delta)
        self._planned = Generator(self.n_noise, self._sizes("generator_hidden_layer_sizes"),
                                  code.width, n_classes, code.groups)
        rows = np.empty((len(X), code.width), np.float32)
        code.dense(X, rows)
        theta, generator = self._solve(
            problem, "sgda" if self.solver == "auto" else self.solver,
            Rows(rows, codes.astype(np.min_scalar_type(-n_classes))),
            stages=self._stages(code.width, n_classes), enforced=enforced_bounds(columns),
            public=["the noise that rows are generated from, and both networks' start",
                    *self._column_facts(columns, n_classes)],
            released=["coefs_", "intercepts_", "generator_"])
        coefs, intercepts = critic.unpacked(theta)
        return {"coefs_": coefs, "intercepts_": intercepts,
                "generator_": generator.astype(np.float32), "_columns": columns, "_code": code,
                "_generator": self._planned, "_dtype": X.dtype,
                "class_prior_": self.class_prior_ if n_classes > 1 else np.ones(1)}

    def _stages(self, width, n_classes):
        """Return the stages before the critic sees rows: distributions, counts or none."""
        if self._follows(width):
            return [Starting(n_classes)]
        return [Counting(n_classes, CriticScore, "class_prior_", np.array)] * (
            n_classes > 1)

    def _follows(self, width):
        """Return whether a generator of `width` columns starts from released moments."""
        return self.init == "moments" or (self.init == "auto" and starting_pays(width))

    def _named_solver(self):
        # The default solver is built later, because its generator depends on the columns.
        return None if self.solver == "auto" else super()._build_solver(self.solver)

    def _build_solver(self, name):
        return replace(super()._build_solver(name), generator=self._planned,
                       near=self._follows(self._planned.n_features))

    def _sizes(self, name):
        return check_layers(name, getattr(self, name))

    def _bounded(self, columns):
        """Return the columns; numeric ones without bounds get `feature_range`."""
        bounds = self.feature_range
        if bounds is None and any(column.is_unknown for column in columns):
            bounds = PLAIN_BOUNDS
            warn(
                "feature_range=None: no bounds are known of some columns of numbers, which are "
                "clipped to (-1, 1); declare feature_range, or their bounds in columns.",
                PrivacyWarning, stacklevel=2)
        return [column.bounded(bounds and tuple(map(float, bounds))) for column in columns]

    def _draw(self, codes, draws):
        """Return rows of the classes at `codes`."""
        parts = []
        for start in range(0, len(codes), _BLOCK):
            own = codes[start:start + _BLOCK]
            noise = draws.normals((len(own), self._generator.n_noise))
            rows = self._generator.forward(self.generator_, noise, own).rows
            parts.append(self._code.undone(rows, draws))
        return self._table([
            np.rint(values) if column.is_whole and column.categories is None else values
            for column, values in zip(self._columns, map(np.concatenate, zip(*parts, strict=True)),
                                      strict=True)])


def _code(columns):
    """Return the encoding of columns as inputs of a network."""
    return ColumnCode(
        tuple(None if column.categories is not None else (column.edges[0], column.edges[-1])
              for column in columns),
        tuple(1 if column.categories is None else len(column.categories) for column in columns))


def _ends(name, value):
    """Raise a ValueError unless `value` is two increasing numbers."""
    try:
        low, high = map(float, value)
        sound = -1e30 <= low < high <= 1e30 and high - low >= 1e-100
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(f"{name}={value!r}: must be None, or (low, high) with low < high, such "
                         "as (0.0, 1.0).")
