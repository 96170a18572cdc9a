"""A budget has one certificate for all that was charged to it: text, JSON and a page."""

import base64
import json
import math
import re
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from dpsk import (
    DPAdditiveClassifier,
    DPGridSearchCV,
    DPLogisticRegression,
    DPMLPClassifier,
    DPTableVectorizer,
    PrivacyBudget,
    accounting,
    make_dp_pipeline,
    privacy_report,
    verify,
)
from dpsk.accounting import BudgetCertificate, Disclosure, Gaussian, Pure, SampledGaussian, total
from dpsk.exceptions import BudgetExceededError
from dpsk.metrics import BinaryEvaluation, dp_cross_validate
from dpsk.testing import NoiseSeed
from tests.events import GROUP_RELATION, RELATION
from tests.instruments import charge_fit

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :4]
DELTA = 1e-5


def model(epsilon=0.3, **params):
    return DPLogisticRegression(epsilon=epsilon, delta=1e-6, data_norm=30.0, **params)


#: Budgets of every kind, with what may be charged to them.
KINDS = {
    "gaussian": (lambda: PrivacyBudget(2.0, DELTA, name="cancer"),
                 [Gaussian(0.1), Pure(0.1), Disclosure(1e-7), Gaussian(0.05)]),
    "all of delta for noise": (lambda: PrivacyBudget(2.0, DELTA, disclosure=0.0),
                               [Gaussian(0.1), Pure(0.1)]),
    "renyi": (lambda: PrivacyBudget(2.0, DELTA, kind="renyi"),
              [Gaussian(0.1), SampledGaussian(0.01, 2.0), SampledGaussian(0.01, 2.0)]),
    "pure": (lambda: PrivacyBudget(2.0, 0.0), [Pure(0.5), Pure(0.25)]),
    "large": (lambda: PrivacyBudget(40.0, 1e-3), [Gaussian(2.0)]),
    "tiny": (lambda: PrivacyBudget(1e-3, 1e-12), [Gaussian(1e-5)]),
    "unused": (lambda: PrivacyBudget(1.0, DELTA), [])}
every_kind = pytest.mark.parametrize("kind", KINDS)


def charged(kind):
    make, events = KINDS[kind]
    with make() as budget:
        for event in events:
            charge_fit(event)
    return budget


@every_kind
def test_what_is_charged_costs_what_the_accountant_says_of_all_events_together(kind):
    budget = charged(kind)
    certificate = budget.certificate()
    events = accounting.compose(*(charge.event for charge in budget.charges))
    assert certificate.event == events
    assert certificate.charged_epsilon == accounting.epsilon(events, certificate.delta)
    assert certificate.charged_epsilon <= certificate.epsilon
    assert certificate.delta_at(certificate.epsilon) <= certificate.delta
    assert certificate.spent == budget.spent
    assert certificate.limits == budget.limits
    assert [charge.event for charge in certificate.charges] == KINDS[kind][1]


@every_kind
def test_the_guarantee_is_that_of_the_budget_and_adds_up_as_one_release(kind):
    budget = charged(kind)
    certificate = budget.certificate()
    whole = certificate.combined()
    assert (whole.epsilon, whole.delta) == (certificate.epsilon, certificate.delta)
    assert whole.delta_at(whole.epsilon) <= whole.delta * (1 + 1e-9)
    assert certificate.guarantee == whole.guarantee
    for found in (total(budget), total([certificate]),
                  privacy_report(budget).private[0].certificate):
        assert found == whole
    assert privacy_report(budget).epsilon <= certificate.epsilon
    other = model().fit(X, Y)
    for both in (total(budget, other), total([budget, other])):
        assert both.delta == pytest.approx(whole.delta + other.privacy_.delta)
        assert both.epsilon <= whole.epsilon + other.privacy_.epsilon
        assert both.epsilon >= accounting.epsilon([whole, other.privacy_], both.delta) * (1 - 1e-9)


@every_kind
def test_json_is_undone_and_follows_the_schema(kind):
    jsonschema = pytest.importorskip("jsonschema", reason="validates by a schema")
    schema = accounting.certificate_schema("budget")
    jsonschema.Draft202012Validator.check_schema(schema)
    certificate = charged(kind).certificate()
    data = json.loads(certificate.to_json())
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(data)
    assert set(schema["properties"]) == set(data)
    assert BudgetCertificate.from_json(certificate.to_json()) == certificate
    for change in ({"epsilon": 0.0}, {"more": 1}, {"unit": "person"}, {"date": "today"},
                   {"charges": [{"name": "a fit"}]}, {"charges": None}):
        assert not validator.is_valid({**data, **change})
        with pytest.raises(ValueError, match="must be"):
            BudgetCertificate.from_dict({**data, **change})


@pytest.mark.parametrize("factor", [0.999, 1.02])
def test_what_was_charged_so_far_is_not_understated(job, factor):
    data = job.certificate().to_dict()
    data["charged_epsilon"] *= factor
    with pytest.raises(ValueError, match="charged_epsilon"):
        BudgetCertificate.from_dict(data)


def test_a_schema_of_something_else_is_refused():
    with pytest.raises(ValueError, match="of='search'"):
        accounting.certificate_schema("search")


@pytest.fixture(scope="module")
def job():
    """Return the budget of a whole job."""
    with PrivacyBudget(20.0, 1e-4, name="<cancer>", disclosure=3e-5) as budget:
        fitted = model(random_state=NoiseSeed(1)).fit(X, Y)
        DPAdditiveClassifier(epsilon=0.3, delta=1e-6, classes=[0, 1]).fit(X, Y)
        make_dp_pipeline(DPTableVectorizer(), DPLogisticRegression(random_state=NoiseSeed(2)),
                         epsilon=0.3, delta=1e-6).fit(X, Y)
        DPGridSearchCV(model(), {"alpha": [0.0, 0.1]}, epsilon=0.3, delta=1e-6).fit(X, Y)
        model().fit(X, Y, groups=np.arange(len(X)) // 2)
        BinaryEvaluation.from_estimator(fitted, X, Y, epsilon=0.3, delta=1e-6)
        dp_cross_validate(model(), X, Y, cv=2, epsilon=0.3, delta=1e-6)
    return budget


def test_every_release_of_a_job_is_there_with_day_price_and_what_is_public(job):
    certificate = job.certificate()
    assert [charge.name for charge in certificate.charges] == [
        "DPLogisticRegression", "DPAdditiveClassifier", "DPPipeline", "DPGridSearchCV",
        "DPLogisticRegression", "BinaryEvaluation", "DPLogisticRegression",
        "DPLogisticRegression", "BinaryEvaluation"]
    days = {time.strftime("%Y-%m-%d", time.gmtime(time.time() - ago)) for ago in (0, 600)}
    assert {charge.date for charge in certificate.charges} <= days
    # The second declares classes, and the evaluation of one model knows those of the model.
    for place, charge in enumerate(certificate.charges):
        (fact,) = (fact for fact in charge.public if "class labels" in fact)
        origin = "declared" if place in (1, 5) else "taken from y"
        assert fact.endswith(f"the set of 2 class labels ({origin})")
        assert any("all parameters" in fact for fact in charge.public)
    assert [charge.of_groups for charge in certificate.charges] == [each == 4 for each in range(9)]
    assert [charge.reproducible for charge in certificate.charges] == [
        each in (0, 2) for each in range(9)]
    assert any(line.endswith("(releases 1, 3)") and "seed" in line
               for line in certificate.assumed)
    assert any(line.endswith("(release 5)") and "stays in its group" in line
               for line in certificate.assumed)
    for unit, spent in certificate.spent.items():
        prices = [price[unit] for price in certificate.prices]
        assert math.fsum(prices) == spent and min(prices) >= 0.0


def test_facts_of_a_fit_are_those_of_its_certificate():
    with PrivacyBudget(1.0, DELTA) as budget:
        fitted = model(classes=[0, 1]).fit(X, Y)
    assert budget.charges[0].public == fitted.privacy_.public


@pytest.mark.parametrize("whole", [
    lambda: make_dp_pipeline(DPTableVectorizer(), DPMLPClassifier(max_iter=2), epsilon=0.5,
                             delta=1e-6),
    lambda: DPGridSearchCV(DPMLPClassifier(max_iter=2), {"alpha": [0.0, 0.1]}, epsilon=0.5,
                           delta=1e-6)], ids=["pipeline", "search"])
def test_wholes_state_what_their_parts_take_as_public(whole):
    with PrivacyBudget(9.0, 1e-4) as budget:
        fitted = whole().fit(X, Y)
    told = " ".join(budget.charges[0].public)
    # In the words of a whole: columns, parameters with draws, and labels.
    for word in ("number of rows", "names", "types", "all parameters", "random draws",
                 "2 class labels (taken from y)"):
        assert word in told
    known = re.compile("number of rows|dtype|all parameters|class labels|split of rows")
    assert all(known.search(fact) for fact in fitted.privacy_.public)


def test_text_names_the_guarantee_every_release_and_what_is_assumed(job):
    certificate = job.certificate()
    for text in (str(certificate), certificate._repr_html_()):
        assert certificate.guarantee in text
        assert RELATION in text
        assert text.count("% of the budget, ") == 9
        assert certificate.checksum in text
        for line in certificate.assumed:
            assert line in text
    assert "&lt;cancer&gt;" in certificate._repr_html_()


class _Page(HTMLParser):
    """Reads a page: tags that are open, and what it would load or link to."""

    def __init__(self):
        super().__init__()
        self.open, self.asks, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta",) and "/" not in tag:
            self.open.append(tag)
        self.asks += [value for name, value in attrs if name in ("src", "href", "data")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_no_other_file_and_holds_the_json(job):
    certificate = job.certificate()
    text = certificate.to_html("people.budget")
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert "http" not in text and "url(" not in text
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    (link,) = page.asks
    kind, _, content = link.partition(",")
    assert kind == "data:application/json;base64"
    assert BudgetCertificate.from_json(base64.b64decode(content).decode()) == certificate
    assert "python -m dpsk.verify certificate.json people.budget" in text
    assert "svg" in page.tags and page.tags.count("rect") >= 9
    assert "&lt;cancer&gt;" in text and "<cancer>" not in text
    assert "repeats under a seed" in text


def test_the_page_says_what_epsilon_and_delta_mean():
    text = PrivacyBudget(1.0, 3e-6).certificate().to_html()
    assert "by a factor of at most 2.72, plus at most 1 in 333,333." in text
    assert "the values of any one row" in text
    by_group = PrivacyBudget(1.0, 0.0, unit="group").certificate().to_html()
    assert "one person" in by_group and "by a factor of at most 2.72." in by_group
    assert "which protects little" in PrivacyBudget(30.0, 1e-6).certificate().to_html()


def test_nothing_shows_a_value_of_the_data():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 2)) + 7654321.0
    labels = np.where(rng.random(500) < 0.5, "madeira", "sintra")
    with PrivacyBudget(3.0, DELTA) as budget:
        fitted = DPLogisticRegression(epsilon=0.5, delta=1e-6).fit(rows, labels)
        DPAdditiveClassifier(epsilon=0.5, delta=1e-6).fit(rows, labels)
        BinaryEvaluation.from_estimator(fitted, rows, labels, epsilon=0.5, delta=1e-6)
    certificate = budget.certificate()
    for text in (certificate.to_html(), certificate.to_json(), str(certificate)):
        assert not re.search("madeira|sintra|76543", re.sub("base64,[^']*", "", text))


def test_certificates_of_neighbors_differ_in_nothing_but_the_day():
    made = []
    for rows in (X, X + 1e6 * (np.arange(len(X)) == 3)[:, None]):
        with PrivacyBudget(20.0, 1e-4, disclosure=3e-5) as budget:
            DPLogisticRegression(epsilon=0.3, delta=1e-6).fit(rows, Y)
            DPAdditiveClassifier(epsilon=0.3, delta=1e-6).fit(rows, Y)
            DPGridSearchCV(model(), {"alpha": [0.0, 0.1]}, epsilon=0.3, delta=1e-6).fit(rows, Y)
        made.append([(each.name, each.event, each.public) for each in budget.charges])
    assert made[0] == made[1]


def test_days_are_told_and_no_hours(tmp_path):
    """Hours would tell how long a private search took, and so how many candidates it ran."""
    with PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget"):
        model().fit(X, Y)
    text = (tmp_path / "a.budget").read_text()
    assert re.search(r'"date": "\d{4}-\d{2}-\d{2}"', text)
    assert not re.search(r"\d\d:\d\d", text)


def test_a_budget_of_groups_protects_people():
    with PrivacyBudget(1.0, DELTA, unit="group") as budget:
        model().fit(X, Y, groups=np.arange(len(X)) // 2)
    certificate = budget.certificate()
    assert certificate.relation == GROUP_RELATION == certificate.combined().relation
    assert any("the same people" in line for line in certificate.assumed)
    report = privacy_report([budget, model().fit(X, Y, groups=np.arange(len(X)) // 2)])
    assert report.is_private and report.relation == GROUP_RELATION
    assert privacy_report([budget, model().fit(X, Y)]).is_private is False


def test_each_of_nested_budgets_has_what_was_charged_to_it():
    whole, part = PrivacyBudget(2.0, DELTA), PrivacyBudget(0.5, DELTA)
    with whole:
        model().fit(X, Y)
        with part:
            model().fit(X, Y)
    assert [len(each.certificate().charges) for each in (whole, part)] == [2, 1]
    assert part.certificate().charges[0] == whole.certificate().charges[1]


def test_a_budget_shared_with_an_earlier_process_has_the_charges_of_both(tmp_path):
    path = tmp_path / "a.budget"
    code = ("import sys; from dpsk import DPLogisticRegression, PrivacyBudget; import numpy as np;"
            "\nwith PrivacyBudget(2.0, 1e-5, path=sys.argv[1]):"
            "\n    DPLogisticRegression(epsilon=.3, delta=1e-6, data_norm=1.0, classes=[0, 1])"
            ".fit(np.eye(60), np.arange(60) % 2)")
    subprocess.run([sys.executable, "-c", code, path], check=True)
    budget = PrivacyBudget(2.0, 1e-5, path=path)
    with budget:
        model().fit(X, Y)
    again = PrivacyBudget.load(path).certificate()
    assert again == budget.certificate()
    assert len(again.charges) == 2
    assert "the set of 2 class labels (declared)" in again.charges[0].public


def test_a_fit_that_failed_or_was_refused_shows_only_where_it_was_charged(monkeypatch):
    def broken(*args, **settings):
        raise MemoryError

    budget = PrivacyBudget(1.0, DELTA)
    with budget:
        with pytest.warns(match="not private"), pytest.raises(
                BudgetExceededError, match="not private and no budget can hold it"):
            model(math.inf).fit(X, Y)
        with pytest.raises(BudgetExceededError):
            model(9.0).fit(X, Y)
        assert budget.certificate().charges == ()
        monkeypatch.setattr("dpsk._mechanism.session.Session.__call__", broken)
        with pytest.raises(MemoryError):
            model().fit(X, Y)
        monkeypatch.undo()
        model().fit(X, Y)
    failed, done = budget.certificate().charges
    # Whether it failed may depend on the rows.
    assert failed == done


def test_a_ledger_without_days_is_read(tmp_path):
    """Such as one whose last line was cut behind the event."""
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with budget:
        charge_fit(Gaussian(0.1))
    text = (tmp_path / "a.budget").read_bytes()
    (tmp_path / "a.budget").write_bytes(text[:-10])
    certificate = PrivacyBudget.load(budget.path).certificate()
    assert "day unknown a fit whose record was cut" in str(certificate)
    assert BudgetCertificate.from_json(certificate.to_json()) == certificate
    assert "day unknown" in certificate.to_html()


def test_a_machine_whose_clock_is_ahead_stops_no_certificate(monkeypatch):
    with PrivacyBudget(1.0, DELTA) as budget:
        with monkeypatch.context() as ahead:
            ahead.setattr(time, "gmtime", lambda: time.struct_time((2999, 1, 1, *6 * [0])))
            charge_fit(Gaussian(0.1))
        charge_fit(Gaussian(0.1))
    certificate = budget.certificate()
    assert certificate.date == certificate.charges[0].date == "2999-01-01"


def test_a_report_on_a_budget_needs_no_fits_that_were_planned():
    with PrivacyBudget(2.0, DELTA) as budget:
        model().fit(X, Y)
        model().fit(X, Y)
    report = privacy_report(budget)
    assert report.is_private
    assert "in at most 2 fits" in report.model_card()
    assert "followed from what" not in report.model_card() + str(report).replace(
        budget.certificate().assumed[1], "")
    assert "no result of one fit decided" in privacy_report(
        {"all": budget, "more": model().fit(X, Y)}).model_card()


@pytest.mark.parametrize("unit", ["row", "group"])
def test_lines_that_were_cut_or_say_less_have_a_certificate(tmp_path, unit):
    path = tmp_path / "a.budget"
    groups = np.arange(len(X)) // 2 if unit == "group" else None
    with PrivacyBudget(2.0, DELTA, unit=unit, path=path):
        model().fit(X, Y, groups=groups)
        model().fit(X, Y, groups=groups)
    path.write_bytes(path.read_bytes()[:-9])
    again = PrivacyBudget.load(path)
    certificate = again.certificate()
    assert (certificate.spent, certificate.charges[1].date) == (again.spent, "")
    assert certificate.spent["mu^2"] == 2 * certificate.prices[0]["mu^2"]
    assert any("state no public facts (release 2)" in line for line in certificate.assumed)
    (tmp_path / "a.json").write_text(certificate.to_json())
    assert verify.main([str(tmp_path / "a.json"), str(path)]) == 0


def test_the_command_on_the_page_takes_the_name_of_the_ledger_as_one_word():
    text = PrivacyBudget(1.0, DELTA).certificate().to_html("all people; rm x")
    assert "certificate.json &#x27;all people; rm x&#x27;</pre>" in text
