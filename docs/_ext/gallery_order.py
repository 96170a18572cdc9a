"""The order of the examples: what a newcomer asks first comes first."""

from pathlib import Path

_ORDER = [
    "utility_against_epsilon", "choosing_epsilon", "pipeline_certificate", "noise_in_coefficients",
    "shape_functions", "robust_regression", "prediction_interval", "worst_group",
    "auc_of_images", "transfer", "laws_of_classes", "private_clusters",
    "generated_rows", "policy_evaluation",
    "private_search", "private_evaluation", "whole_job", "project_budget", "audit"]


class ReadingOrder:
    """A key for sorting files of examples; those that are not in the list come last.

    Parameters
    ----------
    src_dir : str
        The folder of the examples.
    """

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __repr__(self):
        # Sphinx compares settings by what they say, to know what is to be built again.
        return f"<{type(self).__name__}>"

    def __call__(self, filename):
        name = Path(filename).stem.removeprefix("plot_")
        return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)
