"""Privacy accounting: mechanisms as events, and the cost of their composition."""

from dpsk._privacy.best_of import BestOf
from dpsk._privacy.budget_certificate import BudgetCertificate
from dpsk._privacy.calibration import noise_scale
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.events import (
    Composed,
    Disclosure,
    Dominated,
    Gaussian,
    NotPrivate,
    Pure,
    Repeated,
    SampledGaussian,
)
from dpsk.accounting._conversion import from_dp_accounting, to_dp_accounting
from dpsk.accounting._curves import (
    compose,
    delta,
    epsilon,
    noise_multiplier,
    total,
    type_two_error,
)
from dpsk.accounting._displays import PrivacyCurveDisplay, TradeOffCurveDisplay
from dpsk.accounting._schema import certificate_schema

__all__ = ["BestOf", "BudgetCertificate", "Certificate", "Composed", "Disclosure", "Dominated",
           "Gaussian", "NotPrivate", "PrivacyCurveDisplay", "Pure", "Repeated", "SampledGaussian",
           "TradeOffCurveDisplay", "certificate_schema", "compose", "delta", "epsilon",
           "from_dp_accounting", "noise_multiplier", "noise_scale", "to_dp_accounting", "total",
           "type_two_error"]
