"""Reports on what is fitted: what all of it gives away together, and what has no guarantee."""

from dpsk.reporting._asked import privacy_report
from dpsk.reporting._report import PrivacyReport

__all__ = ["PrivacyReport", "privacy_report"]
