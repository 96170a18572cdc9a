"""First fits on every pair of tables: accepted pairs, and contents of the fits."""

import time
from collections import Counter
from collections.abc import Mapping

from sklearn.base import clone

from dpsk.auditing._fits import fitted_on, raise_if_a_budget_ended, words_of
from dpsk.auditing._leaves import Opaque, leaves

__all__ = ["Survey", "opened"]

#: Classes whose state or seed determines the drawn numbers, and their packages; Python's
#: SystemRandom has no state.
_CLASSES = {"Generator", "RandomState", "BitGenerator", "SeedSequence", "Random"}
_PACKAGES, _STATELESS = {"numpy", "random", "torch", "cupy"}, "SystemRandom"
#: Name in a state of NumPy's generator, and length of a state of Python's.
_TWISTER, _WORDS = "MT19937", 625


class Survey:
    """Fit an estimator once on each table of every pair.

    Parameters
    ----------
    estimator : estimator

    Attributes
    ----------
    set_aside : list of str
        Refused pairs, with the types of the errors.
    generators : set of str
        Places of random generators that fits made and kept.
    moves_features : bool
        Whether some accepted pair differs in more than a target.
    """

    def __init__(self, estimator):
        self._estimator = estimator
        self._counts = Counter()
        self.set_aside, self.generators, self.moves_features = [], set(), False

    @property
    def keys(self):
        """Set of str : keys of mappings in more than one fit, which may serve as names."""
        return {key for key, count in self._counts.items() if count > 1}

    def taken(self, families):
        """Yield (pairs, fitted, seconds): accepted pairs, a fit, and the time of one fit.

        If all accepted pairs differ in a target alone, they join the next family.

        Parameters
        ----------
        families : list of list of Pair
        """
        refusals, any_taken, pairs, held = [], False, [], []
        for place, family in enumerate(families):
            start = time.monotonic()
            for pair in family:
                fitted, errors = self._fitted_on_both(pair)
                refusals += errors
                if fitted and not any(isinstance(error, ValueError) for error in errors):
                    pairs.append(pair)
                    held.append(fitted[0])
                else:
                    self.set_aside.append(f"{pair.name}: {type(errors[0]).__name__}")
            seconds = (time.monotonic() - start) / (2 * len(family))
            moves = any(pair.moves_features for pair in pairs)
            self.moves_features |= moves
            if pairs and (moves or place == len(families) - 1):
                yield pairs, held[0], seconds
                any_taken, pairs, held = True, [], []
        if not any_taken:
            raise ValueError("The estimator refuses one table or both of every pair, and nothing "
                             "is tested; give neighbors= that it takes. The first error is "
                             f"{type(refusals[0]).__name__}: {words_of(refusals[0])}"
                             ) from refusals[0]

    def _fitted_on_both(self, pair):
        """Return the successful fits on a pair, and the errors of the others."""
        fits, errors = [], []
        for table in pair.tables:
            model = clone(self._estimator)
            given = [value for _, value in opened(model) if _is_generator(value)]
            try:
                fitted_on(model, table)
                fits.append(model)
            except Exception as error:
                raise_if_a_budget_ended(error)
                errors.append(error)
            else:
                self._look_at(model, given)
        return fits, errors

    def _look_at(self, model, given):
        """Count keys of mappings, and find generators that are not parameters."""
        keys, found, known = set(), [], []
        for name, value in opened(model):
            if isinstance(value, Mapping):
                keys.update(key for key in value if isinstance(key, str))
            # The parts of a generator are not reported separately.
            if _is_generator(value) and not any(
                    name.startswith(f"{each}.") for each in [*found, *known]):
                (known if any(value is each for each in given) else found).append(name)
        self._counts.update(keys)
        self.generators.update(found)


def _is_state(value):
    """Return whether a value is the state of a generator of NumPy or of Python."""
    if isinstance(value, dict):
        return {"bit_generator", "state"} <= value.keys()
    if type(value) is not tuple or len(value) < 3:
        return False
    of_python = isinstance(value[1], tuple) and len(value[1]) == _WORDS
    return of_python or (isinstance(value[0], str) and value[0] == _TWISTER)


def _is_generator(value):
    """Return whether a value is a known random generator or seed, or its state."""
    if _is_state(value):
        return True
    names = {cls.__name__ for cls in type(value).__mro__
             if str(cls.__module__).partition(".")[0] in _PACKAGES}
    return bool(names & _CLASSES) and _STATELESS not in names


def opened(model):
    """Yield (name, object) for everything in an estimator that is not a plain value."""
    return ((name, leaf.value) for name, leaf in leaves(model, "") if isinstance(leaf, Opaque))
