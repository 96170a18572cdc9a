"""What a fit to a raw table shows follows from its releases and from public facts."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.estimators.raw_tables import LEVELS, TOWNS, curves, fitted, make, table, targets
from tests.instruments import repeated_stream
from tests.registry import every_additive_model

SECRET, SECRET_WORD = 31337.25, "Secretville"


def variants(X):
    """Yield tables of the same public facts: none of their differences may show by itself.

    Words that sort behind those of X leave their positions alone.
    """
    n = len(X)
    yield "other", table(n, seed=1)
    yield "huge", X.assign(number=1e300, count=np.iinfo(np.int64).max)
    yield "constant", X.assign(number=0.0, count=0)
    yield "missing", X.assign(number=np.nan)
    rare = [*TOWNS, *(f"town {each}" for each in range(n - 2))]
    yield "rare words", X.assign(town=pd.Series(rare, dtype=object))
    yield "other types", X.assign(town=pd.Series([*TOWNS, *["town"] * (n - 2)], dtype=object))
    yield "unknown words", X.assign(town=pd.Series([*TOWNS, *[None] * (n - 2)], dtype=object))
    yield "levels", X.assign(level=pd.Series([None] * n, dtype=LEVELS), flag=True)


@pytest.mark.covering(most=1)
@every_additive_model
@pytest.mark.parametrize("interactions, max_categories", [(0, 24), (2, 24), (2, None)])
def test_all_that_a_fit_shows_follows_from_its_releases(cls, interactions, max_categories, capsys):
    """What releases answered for one table, handed back in a fit to another."""
    X = table()
    public = table(9, seed=7)
    params = {"random_state": 0, "verbose": 1, "interactions": interactions,
              "max_categories": max_categories}
    if is_classifier(cls()):
        params["classes"] = ["no", "yes"]

    def shown(X, y, answers=None):
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            model = make(cls, **params).fit(X, y)
        printed = capsys.readouterr()
        faces = {"printed": printed.out, "errors": printed.err,
                 "warned": [str(one.message) for one in warned],
                 "certificate": model.privacy_.to_json(), "page": model.privacy_._repr_html_(),
                 "events": tape.events, "attributes": list(vars(model)),
                 "predictions": model.predict(public).tolist(),
                 "terms": pickle.dumps(model.terms_),
                 # How many counts there are follows the rows, and noise hides them all.
                 "scales": [each for each in tape.public if len(each) == 2]}
        faces |= {name: pickle.dumps(value) for name, value in vars(model).items()}
        return faces, tape, model

    y = targets(cls, X)
    faces, tape, model = shown(X, y)
    assert faces["printed"]
    # Of so few rows categories are hashed, unless it is said how many are to be found.
    categories = curves(model)["town"][0].categories
    assert categories == TOWNS if max_categories else set(categories) <= {
        f"bucket {place}" for place in range(32)}
    ends = np.roll(y, 3) if is_classifier(cls()) else np.full(len(y), 1e9)
    for name, other in variants(X):
        for labels in (y, ends):
            found, _, _ = shown(other, labels, tape.answers)
            assert [face for face in faces if faces[face] != found[face]] == [], name
    assert shown(table(seed=1), y)[0]["term_coef_"] != faces["term_coef_"]


@every_additive_model
@pytest.mark.parametrize("random_state", [None, NoiseSeed(3)])
def test_cells_are_not_in_the_pickle_but_for_categories_that_were_released(cls, random_state):
    X = table()
    y = targets(cls, X)
    X.loc[5, "number"] = SECRET
    X["town"] = X["town"].astype(object)
    X.loc[5, "town"] = SECRET_WORD
    X.loc[6, "town"] = SECRET
    model = make(cls, random_state=random_state).fit(X, y)
    for data in (pickle.dumps(model), pickle.dumps(model.terms_), str(model.privacy_).encode()):
        assert SECRET_WORD.encode() not in data and b"31337" not in data
        assert np.float64(SECRET).tobytes() not in data
        assert np.float64(SECRET).byteswap().tobytes() not in data
    assert curves(model)["town"][0].categories == TOWNS
    # Without noise all that occur are released.
    with pytest.warns(PrivacyWarning):
        exact = make(cls, epsilon=np.inf).fit(X, y)
    assert SECRET_WORD.encode() in pickle.dumps(exact)


@every_additive_model
def test_nothing_of_the_size_of_the_table_is_kept(cls):
    X = table(211)
    X["town"] = np.where(np.arange(211) < 90, "north", np.char.mod("t%d", np.arange(211)))
    model = make(cls).fit(X, targets(cls, X))
    for name, value in vars(model).items():
        arrays = [value] if isinstance(value, np.ndarray) else []
        assert all(211 not in each.shape and each.size < 2000 for each in arrays), name
    assert len(pickle.dumps(model)) < 40_000


@every_additive_model
@pytest.mark.parametrize("cell", [[SECRET_WORD], (SECRET,), pd.Timestamp("2020-01-01"), 1j])
def test_cells_that_are_refused_are_not_quoted(cls, cell, silent):
    X = table()
    y = targets(cls, X)
    town = X["town"].astype(object).tolist()
    town[3] = cell
    with pytest.raises(ValueError, match="column 'town'") as caught:
        make(cls).fit(X.assign(town=pd.Series(town, dtype=object)), y)
    said = str(caught.value)
    assert SECRET_WORD not in said and "31337" not in said and "2020" not in said
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@every_additive_model
def test_a_seed_repeats_a_fit_whatever_the_container_and_an_int_does_not(cls):
    def trained(**params):
        model = fitted(cls, **params)
        return pickle.dumps([np.round(model.term_coef_, 12), np.round(model.intercept_, 12)])

    assert trained(random_state=NoiseSeed(0)) == trained(random_state=NoiseSeed(0))
    assert trained(random_state=NoiseSeed(0)) != trained(random_state=NoiseSeed(1))
    assert trained(random_state=0) != trained(random_state=0)


@every_additive_model
def test_fits_are_the_same_whatever_errors_are_set_to_raise(cls):
    X = table()
    y = targets(cls, X)
    X.loc[:40, "number"] = np.resize([0.0, 5e-324, 1e-300, 1e160, -1.7e308, np.nan], 41)

    def outcome():
        with repeated_stream():
            model = make(cls).fit(X, y)
        return model.term_coef_.tobytes(), model.predict(X).tobytes()

    calm = outcome()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PrivacyWarning)
        assert outcome() == calm
