"""Reports on fitted objects: their total privacy cost and unprotected parts."""

from dpsk.reporting._asked import privacy_report
from dpsk.reporting._report import PrivacyReport

__all__ = ["PrivacyReport", "privacy_report"]
