"""Reports on fitted objects: their total privacy cost, and the parts without a guarantee."""

from dpsk.reporting._asked import privacy_report
from dpsk.reporting._report import PrivacyReport

__all__ = ["PrivacyReport", "privacy_report"]
