"""Steps made of parts, each a transformer of its own: one budget, one bound, no other learner."""

import math
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler

from dpsk import (
    DPLogisticRegression,
    DPMLPClassifier,
    DPPipeline,
    DPRidge,
    DPRobustScaler,
    DPTableVectorizer,
    make_dp_pipeline,
)
from dpsk.accounting import Composed, Disclosure, Gaussian
from dpsk.testing import NoiseSeed
from tests.events import gaussian_delta, gaussian_mu, tally
from tests.pipeline.fits import costs, table

NUMBERS, WORDS = ["age", "wage"], ["town"]


def _name(value):
    """Return a short name of a case, that of a class where its text would hold addresses."""
    return value if isinstance(value, str) else type(value).__name__


def columns(**params):
    return ColumnTransformer([("numbers", DPTableVectorizer(), NUMBERS),
                              ("words", DPTableVectorizer(max_categories=8), WORDS)], **params)


def union(**params):
    return FeatureUnion([("some", DPTableVectorizer(n_knots=3, max_categories=8)), ("more",
                         DPTableVectorizer(n_knots=5, max_categories=8))], **params)


def pipeline(step, last=None, **params):
    last = DPLogisticRegression() if last is None else last
    return DPPipeline([("columns", step), ("last", last)], **{
        "epsilon": 2.0, "delta": 1e-5, "random_state": NoiseSeed(0), **params})


def _parts_of_first(fitted):
    """Return what the private parts of the first step cost, each by itself."""
    return [own for name, own in fitted.step_certificates_.items() if name.startswith("columns__")]


def _squares(event):
    return sum(count * each.mu**2 for each, count in tally(event).items()
               if isinstance(each, Gaussian))


@pytest.mark.parametrize("step", [columns(), union(), columns(remainder="passthrough"),
                                  ColumnTransformer([("words", DPTableVectorizer(), WORDS)],
                                                    remainder=DPTableVectorizer())], ids=_name)
def test_parts_do_not_compose_in_parallel(step):
    """Each of them sees all rows: squares of mu add up, of parts on columns of their own too."""
    fitted = pipeline(step).fit(*table())
    every = costs(fitted)
    assert len(every) == 3
    events = Composed(tuple(each.event for each in every))
    assert tally(fitted.privacy_.event) == tally(events)
    mu = math.sqrt(sum(_squares(each.event) for each in every))
    chance = sum(count * each.delta for each, count in tally(events).items()
                 if isinstance(each, Disclosure))
    assert fitted.privacy_.delta_at(2.0) == pytest.approx(
        chance + (1 - chance) * gaussian_delta(mu, 2.0), rel=1e-5)
    assert 0.8e-5 < fitted.privacy_.delta_at(2.0) <= 1e-5
    assert fitted.score(*table()) > 0.7


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_a_part_has_the_share_of_its_name(share):
    fitted = pipeline(columns(), shares={"columns__numbers": share}).fit(*table())
    # Both could show a category.
    whole = gaussian_mu(2.0, 0.8e-5 / (1 - 0.2e-5))**2
    first, second = (_squares(each.event) / whole for each in _parts_of_first(fitted))
    assert first == pytest.approx(share, rel=1e-3) and 0 < second < 0.2


def test_rules_together_take_half_at_most():
    many = FeatureUnion([(f"part{place}", DPRobustScaler()) for place in range(6)])
    whole = gaussian_mu(0.05, 1e-5)**2
    fitted = pipeline(many, epsilon=0.05).fit(table()[0][NUMBERS], table()[1])
    spent = sum(_squares(each.event) for each in _parts_of_first(fitted)) / whole
    assert 0.48 < spent <= 0.5 * (1 + 1e-6)


@pytest.mark.parametrize("step, square", [
    (columns(), 3.0), (union(), 6.0), (union(transformer_weights={"more": 0.5}), 3.75),
    (columns(transformer_weights={"words": 2.0}), 6.0), (columns(remainder="passthrough"), 3.0),
    (ColumnTransformer([("words", DPTableVectorizer(), WORDS), ("no", "drop", ["age"])]), 1.0),
    (ColumnTransformer([("words", DPTableVectorizer(), WORDS), ("age", "passthrough", ["age"])]),
     None),
    (ColumnTransformer([("words", DPTableVectorizer(), WORDS)],
                       remainder=FunctionTransformer(np.tanh)), None)], ids=_name)
def test_bounds_on_rows_add_up_as_squares(step, square):
    fitted = pipeline(step).fit(*table())
    first, last = (each for _, each in fitted.steps_)
    rows = np.asarray(first.transform(table(seed=3)[0]), dtype=float)
    if square is None:
        assert not hasattr(first, "row_norm_") and last.data_norm == "auto"
    else:
        assert first.row_norm_ == last.data_norm == pytest.approx(math.sqrt(square))
        assert (np.linalg.norm(rows, axis=1) <= first.row_norm_ * (1 + 1e-6)).all()


def test_fitted_parts_have_scikit_learns_shape():
    X, y = table()
    fitted = pipeline(columns(remainder="drop")).fit(X, y)
    step = fitted.steps_[0][1]
    assert step.transformers[0][1].get_params() == DPTableVectorizer().get_params()
    assert [each[0] for each in step.transformers_] == ["numbers", "words"]
    assert isinstance(step.named_transformers_["words"], DPTableVectorizer)
    names = step.get_feature_names_out()
    assert len(names) == step.transform(X).shape[1] == fitted.steps_[1][1].n_features_in_
    assert names[-1] == "words__town_other" and names[0].startswith("numbers__age[")
    assert fitted.feature_names_in_.tolist() == list(X.columns)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert "columns__words.categories_" in fitted.privacy_.released
    framed = pipeline(columns()).set_output(transform="pandas").fit(X, y)
    assert framed.steps_[0][1].transform(X).columns.tolist() == names.tolist()
    given = pipeline(columns()).set_params(columns__numbers__n_knots=3)
    assert given.fit(X, y).steps_[0][1].transformers_[0][1].n_knots == 3
    both = pipeline(union()).fit(X, y).steps_[0][1]
    assert [name for name, _ in both.transformer_list] == ["some", "more"]
    assert isinstance(both.named_transformers["more"], DPTableVectorizer)


@pytest.mark.parametrize("step, match", [
    (ColumnTransformer([("scale", StandardScaler(), NUMBERS), ("words", DPTableVectorizer(),
                                                              WORDS)]), "columns__scale"),
    (ColumnTransformer([("words", OneHotEncoder(), WORDS)]), "columns__words"),
    (ColumnTransformer([("words", DPTableVectorizer(), WORDS)], remainder=SimpleImputer()),
     "columns__remainder"),
    (FeatureUnion([("words", DPTableVectorizer()), ("more", make_pipeline(StandardScaler()))]),
     "columns__more"),
    (FeatureUnion([("inner", columns())]), "columns__inner")], ids=_name)
def test_a_part_that_learns_from_rows_is_refused_by_its_name(step, match, silent):
    with pytest.raises(ValueError, match=f"step '{match}': .* learn from rows"):
        pipeline(step).fit(*table())


@pytest.mark.parametrize("step, params, match", [
    (ColumnTransformer([("all", DPTableVectorizer(), lambda X: [X.iloc[0].argmax()])]), {},
     "chosen by a function"),
    (ColumnTransformer([("all", DPTableVectorizer(), ["nothing"])]), {}, "nothing"),
    (ColumnTransformer([("all", DPTableVectorizer(), [])]), {}, "takes no column"),
    (ColumnTransformer([("all", "passthrough", [0, 1, 2])], remainder=DPTableVectorizer()), {},
     "no column is left"),
    (ColumnTransformer([("all", DPTableVectorizer(n_knots=4), [0])]), {}, "n_knots=4"),
    (columns(), {"shares": {"columns": 0.2}}, "'columns', which is no private step"),
    (columns(), {"shares": {"columns__numbers": 0.9, "columns__words": 0.1}}, "nothing is left"),
    (ColumnTransformer([("a", make_dp_pipeline(DPTableVectorizer(), "passthrough"), [0])]), {},
     "no rule for the share of step 'columns__a'"),
    (ColumnTransformer([("a", DPTableVectorizer(), [0]), ("a", "drop", [1])]), {}, "unique")],
    ids=_name)
def test_what_parts_cannot_be_is_refused_first(step, params, match, silent):
    with pytest.raises(ValueError, match=match):
        pipeline(step, **params).fit(*table())


def test_columns_are_chosen_by_dtype():
    step = ColumnTransformer([
        ("numbers", DPTableVectorizer(), make_column_selector(dtype_include=np.number))],
        remainder="drop")
    fitted = pipeline(step).fit(*table())
    assert fitted.steps_[0][1].transformers_[0][2] == NUMBERS


def test_a_pipeline_is_a_part_at_a_share_that_is_named():
    inner = make_dp_pipeline(FunctionTransformer(np.abs), DPTableVectorizer(),
                             shares={"dptablevectorizer": 0.5})
    step = ColumnTransformer([("numbers", inner, NUMBERS), ("words", DPTableVectorizer(), WORDS)])
    fitted = pipeline(step, shares={"columns__numbers": 0.2}).fit(*table())
    assert fitted.privacy_.delta_at(2.0) <= 1e-5


def test_parts_without_rows_to_learn_from_are_maps():
    """They are fitted to nothing: whether what they make is sparse follows from no row."""
    step = ColumnTransformer([("hashed", HashingVectorizer(n_features=32), "town")],
                             remainder="drop")
    fitted = pipeline(step, DPRidge(target_bounds=(0, 1))).fit(*table())
    assert not sparse.issparse(fitted.steps_[0][1].transform(table()[0]))
    assert "columns__hashed: that it maps each row by itself" in str(fitted.privacy_)
    between = DPPipeline([("table", DPTableVectorizer()), ("norms", FeatureUnion(
        [("as_is", "passthrough"), ("unit", Normalizer())])), ("last", DPRidge())])
    assert between.fit(*table()).steps_[2][1].data_norm == "auto"


@pytest.mark.parametrize("last", [DPMLPClassifier(max_iter=3), "passthrough"], ids=_name)
def test_the_last_private_part_takes_what_is_left(last):
    fitted = pipeline(columns(), last).fit(*table())
    assert 0.75e-5 < fitted.privacy_.delta_at(2.0) <= 1e-5
    assert {type(each) for each in tally(fitted.privacy_.event)} == {Gaussian, Disclosure}


def test_without_a_budget_nothing_is_drawn():
    X, y = table()
    fitted = pipeline(columns(), epsilon=np.inf).fit(X, y)
    assert not fitted.privacy_.is_private and fitted.score(X, y) > 0.8


def test_arrays_and_lists_have_columns_too():
    X, y = table()
    step = ColumnTransformer([("numbers", DPTableVectorizer(), [0, 1])],
                             remainder=DPTableVectorizer(columns={0: ["a", "b", "c"]}))
    for rows in (X.to_numpy(), X.to_numpy().tolist()):
        assert pipeline(step).fit(rows, y).steps_[0][1].row_norm_ == pytest.approx(3**0.5)
