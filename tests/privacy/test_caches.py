"""No scale is taken from a cache for another plan, epsilon or delta than its own."""

import dataclasses
import inspect
import itertools
import math

import pytest

from dpsk import _queries
from dpsk._privacy import accountant, batches, plans
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian, Pure, Repeated, SampledGaussian
from dpsk._privacy.plans import ExponentialChoices, NoisySums

SOME = PoissonBatches(0.05)

#: Two values that differ for every field of this name; a new field needs an entry.
VALUES = {
    "batches": (SOME, PoissonBatches(math.nextafter(0.05, 1)), PoissonBatches(0.2), FullBatch()),
    "sampling_rate": (0.05, math.nextafter(0.05, 1), 0.2),
    "count": (9, 10, 40), "ratio": (1.0, 0.5, 2.0),
    "rounds": (5, 6), "pure": (False, True), "public_holdout": (False, True),
    "mean_runs": (3.0, 10.0), "chance": (0.0, 1e-8, 1e-7),
    "steps": (10, 100), "step": (0.5, 0.4), "strong_convexity": (0.1, 0.2),
    "ridge": (0.1, 0.2), "determinant": (0.05, 0.2), "tail": (0.02, 0.05),
    "tolerance": (1e-3, 1e-2), "dual_share": (0.3, 0.5),
    **dict.fromkeys(("answers", "anchors", "changes", "dual", "base", "difference"), (
        NoisySums(SOME, 20), NoisySums(SOME, 21), NoisySums(FullBatch(), 20),
        NoisySums(SOME, 20, 0.5))),
    "first": ((Gaussian(0.02),), (Gaussian(0.1),), ()), "last": ((), (Gaussian(0.1),)),
    "shares": ((0.36, 0.64), (0.5, 0.6), (0.1, 0.3, 0.6)),
    "plan": (NoisySums(SOME, 20), NoisySums(SOME, 30), NoisySums(FullBatch(), 20)),
}
#: Where a class means something else by a name.
OTHERS = {(_queries.CheckedGradients, "batches"): (1, 2), (_queries.Vertices, "answers"): (
    ExponentialChoices(9, False), ExponentialChoices(10, False), ExponentialChoices(9, True))}
#: Fields that no price depends on: what a clip bounds is in the unit of its noise.
CLIPS = {"clip_norm": 0.5, "group_clip_norm": None, "group_clip": None, "curvature_clip": 0.25,
         "primal_clip": 0.5, "dual_clip": 2.0, "slopes": (1.0, 1.0)}

DECLARED = [cls for module in (plans, batches)
            for _, cls in inspect.getmembers(module, dataclasses.is_dataclass)
            if cls.__module__ == module.__name__]
DECLARED += [cls for _, cls in inspect.getmembers(_queries, dataclasses.is_dataclass)
             if cls is not _queries.ExactAnswers]
CASES = [(cls, field.name) for cls in DECLARED for field in dataclasses.fields(cls)
         if field.name not in CLIPS]
every_class = pytest.mark.parametrize("cls", DECLARED, ids=lambda cls: cls.__name__)
every_field = pytest.mark.parametrize(
    "cls, name", CASES, ids=lambda value: getattr(value, "__name__", value))


def values_of(cls, name):
    if name in CLIPS:
        return (CLIPS[name],)
    return OTHERS.get((cls, name)) or VALUES[name]


def first(cls):
    """A declaration of this class, at the first values of its fields."""
    return cls(**{f.name: values_of(cls, f.name)[0] for f in dataclasses.fields(cls)})


def variants(cls, name):
    """Declarations of this class that differ in one field."""
    return [dataclasses.replace(first(cls), **{name: value}) for value in values_of(cls, name)]


@every_class
def test_declarations_are_frozen_and_equal_to_their_copies(cls):
    assert cls.__dataclass_params__.frozen and cls.__dataclass_params__.eq
    assert first(cls) == first(cls) and hash(first(cls)) == hash(first(cls))
    with pytest.raises(dataclasses.FrozenInstanceError):
        first(cls).something = 1


@every_field
def test_every_field_changes_equality_and_hash(cls, name):
    for one, other in itertools.combinations(variants(cls, name), 2):
        assert one != other
        assert hash(one) != hash(other)
        assert {one: 1, other: 2} == {other: 2, one: 1} and len({one, other}) == 2


def test_declarations_of_two_classes_with_the_same_fields_are_not_equal():
    for one, other in itertools.combinations(map(first, DECLARED), 2):
        assert one != other


@pytest.mark.covering(most=12)
@pytest.mark.parametrize("epsilon, delta", [(0.7, 1e-5), (3.0, 0.0)])
@pytest.mark.parametrize("cls, name", [case for case in CASES if "__call__" in vars(case[0])],
                         ids=lambda value: getattr(value, "__name__", value))
def test_a_scale_is_private_for_its_own_declaration(cls, name, epsilon, delta):
    """Each differs in one field from one that has just been calibrated."""
    found = 0
    for plan in variants(cls, name):
        if (delta == 0) != math.isfinite(accountant.epsilon(plan(1.0), 0.0)):
            continue
        scale = calibrate(plan, epsilon, delta)
        assert accountant.delta(plan(scale), epsilon) <= delta
        # Another's larger scale would be private too, but not the least.
        assert accountant.delta(plan(scale * (1 - 1e-4)), epsilon) > delta
        assert calibrate(plan, epsilon, delta) == scale
        found += 1
    assert found or delta == 0


@dataclasses.dataclass(frozen=True)
class Watched:
    """A declaration that says when it was asked."""

    kind: str
    asked: list = dataclasses.field(default_factory=list, compare=False)

    def __call__(self, scale):
        self.asked.append(scale)
        return {"full": Repeated(Gaussian(2 / scale), 30), "pure": Repeated(Pure(1 / scale), 10),
                "sampled": Repeated(SampledGaussian(0.05, scale), 30)}[self.kind]


@pytest.mark.parametrize("kind", ["full", "pure", "sampled"])
@pytest.mark.parametrize("epsilon, delta", [(1.0, 1e-5), (0.3, 1e-7)])
def test_the_last_bit_of_epsilon_and_delta_counts(kind, epsilon, delta):
    budgets = [(epsilon, delta)]
    for way in (0, math.inf):
        budgets += [(math.nextafter(epsilon, way), delta), (epsilon, math.nextafter(delta, way))]
    plan = Watched(kind)
    for budget in budgets:
        before = len(plan.asked)
        scale = calibrate(plan, *budget)
        assert len(plan.asked) > before, "taken from the cache of another budget"
        assert accountant.delta(plan(scale), budget[0]) <= budget[1]
        before = len(plan.asked)
        assert calibrate(plan, *budget) == scale and len(plan.asked) == before


def test_a_flag_and_a_number_that_are_equal_have_one_price():
    """``1 == True`` is one key, so it must be one event."""
    assert _queries.Output(True, 1.0) == _queries.Output(1, 1.0)
    assert _queries.Output(True, 1.0)(2.0) == _queries.Output(1, 1.0)(2.0)
