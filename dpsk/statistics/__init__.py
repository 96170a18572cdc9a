"""Private statistics of a table, with errors: counts, means, quantiles, and a summary."""

from dpsk.statistics._counts import dp_histogram, dp_value_counts
from dpsk.statistics._describe import Description, describe
from dpsk.statistics._moments import dp_count, dp_mean, dp_std, dp_sum, dp_var
from dpsk.statistics._pairs import dp_corrcoef, dp_covariance
from dpsk.statistics._quantiles import dp_median, dp_quantile

__all__ = ["Description", "describe", "dp_corrcoef", "dp_count", "dp_covariance", "dp_histogram",
           "dp_mean", "dp_median", "dp_quantile", "dp_std", "dp_sum", "dp_value_counts", "dp_var"]
