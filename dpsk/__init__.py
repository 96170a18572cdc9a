"""scikit-learn estimators that train with differential privacy."""

from importlib import import_module

from dpsk import (
    additive,
    cluster,
    covariance,
    discriminant_analysis,
    ensemble,
    generative,
    linear_model,
    model_selection,
    naive_bayes,
    neural_network,
    pipeline,
    preprocessing,
    ranking,
    reinforcement_learning,
    robust,
)
from dpsk._budget import PrivacyBudget
from dpsk._privacy.calibration import noise_scale
from dpsk._privacy.certificate import Certificate
from dpsk._version import __version__
from dpsk.additive import *  # noqa: F403  # each family says what it offers
from dpsk.cluster import *  # noqa: F403
from dpsk.covariance import *  # noqa: F403
from dpsk.discriminant_analysis import *  # noqa: F403
from dpsk.ensemble import *  # noqa: F403
from dpsk.generative import *  # noqa: F403
from dpsk.linear_model import *  # noqa: F403
from dpsk.model_selection import *  # noqa: F403
from dpsk.naive_bayes import *  # noqa: F403
from dpsk.neural_network import *  # noqa: F403
from dpsk.pipeline import *  # noqa: F403
from dpsk.planning import plan_privacy
from dpsk.preprocessing import *  # noqa: F403
from dpsk.ranking import *  # noqa: F403
from dpsk.reinforcement_learning import *  # noqa: F403
from dpsk.reporting import privacy_report
from dpsk.robust import *  # noqa: F403
from dpsk.tree import DPDecisionTreeClassifier, DPDecisionTreeRegressor

__all__ = ["Certificate", "PrivacyBudget", "__version__", "noise_scale", *additive.__all__,
           *cluster.__all__, *covariance.__all__, *discriminant_analysis.__all__,
           *ensemble.__all__, *generative.__all__, *linear_model.__all__,
           *model_selection.__all__, *naive_bayes.__all__, *neural_network.__all__,
           *pipeline.__all__, "plan_privacy", *preprocessing.__all__, *ranking.__all__,
           *reinforcement_learning.__all__, "privacy_report", *robust.__all__,
           "DPDecisionTreeClassifier", "DPDecisionTreeRegressor"]

#: Public modules that are imported when they are first asked for.
_LATER = ("accounting", "auditing", "inspection", "metrics", "sources", "statistics", "testing")


def __getattr__(name):
    if name in _LATER:
        return import_module(f"dpsk.{name}")
    raise AttributeError(f"module 'dpsk' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATER})
