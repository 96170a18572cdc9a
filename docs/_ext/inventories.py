"""Inventories of other libraries, written from what is installed, so that a build needs no web.

The addresses follow each library's own rule for pages of its reference.
"""

import importlib
import inspect
import zlib

import numpy as np
import scipy
import sklearn

_SKLEARN_MODULES = (
    "base calibration cluster compose covariance datasets decomposition dummy ensemble exceptions "
    "experimental feature_extraction feature_selection gaussian_process impute inspection "
    "isotonic kernel_approximation linear_model manifold metrics mixture model_selection "
    "multiclass multioutput naive_bayes neighbors neural_network pipeline preprocessing "
    "random_projection semi_supervised svm tree utils utils.estimator_checks"
).split()
#: What docstrings that estimators inherit refer to beside names.
_SKLEARN_LABELS = [
    "accuracy_score std:label -1 modules/model_evaluation.html#accuracy-score Accuracy score",
    "df_output_transform std:label -1 auto_examples/miscellaneous/plot_set_output.html set_output",
    "meta-estimator std:term -1 glossary.html#term-$ -",
    "metadata_routing std:label -1 metadata_routing.html#metadata-routing Metadata Routing",
    "r2_score std:label -1 modules/model_evaluation.html#r2-score R2 score",
    "sphx_glr_auto_examples_miscellaneous_plot_set_output.py std:label -1 "
    "auto_examples/miscellaneous/plot_set_output.html set_output",
]
_SCIPY_MODULES = "integrate interpolate linalg optimize sparse special stats".split()


def _public(module):
    """Yield (name, object) of what a module offers; names that ask for an opt-in are left out."""
    for name in getattr(module, "__all__", dir(module)):
        try:
            found = getattr(module, name)
        except (AttributeError, ImportError):
            continue
        if not name.startswith("_") and callable(found):
            yield name, found


def _lines(library, modules, generated, module_page):
    for path in modules:
        full = f"{library}.{path}".rstrip(".")
        module = importlib.import_module(full)
        yield f"{full} py:module 0 {module_page.format(module=path)} -"
        for name, found in _public(module):
            page = f"{generated}/{full}.{name}.html#$ -"
            yield f"{full}.{name} py:{'class' if inspect.isclass(found) else 'function'} 1 {page}"
            if inspect.isclass(found):
                yield from (f"{full}.{name}.{member} py:method 1 {page}"
                            for member in dir(found) if not member.startswith("_"))


def _write(path, library, version, lines):
    head = (f"# Sphinx inventory version 2\n# Project: {library}\n# Version: {version}\n"
            "# The remainder of this file is compressed using zlib.\n")
    path.write_bytes(head.encode() + zlib.compress("\n".join(sorted(set(lines))).encode()))


def write_inventories(folder):
    """Write one inventory a library into `folder`; return what intersphinx is to be told."""
    folder.mkdir(parents=True, exist_ok=True)
    libraries = {
        "sklearn": (sklearn, _SKLEARN_MODULES, "modules/generated", "api/sklearn.{module}.html",
                    "https://scikit-learn.org/stable/"),
        "numpy": (np, ["", "linalg", "random"], "reference/generated",
                  "reference/routines.{module}.html", "https://numpy.org/doc/stable/"),
        "scipy": (scipy, _SCIPY_MODULES, "reference/generated", "reference/{module}.html",
                  "https://docs.scipy.org/doc/scipy/"),
    }
    mapping = {}
    for name, (library, modules, generated, module_page, url) in libraries.items():
        path = folder / f"{name}.inv"
        _write(path, name, library.__version__, [
            *_lines(name, modules, generated, module_page),
            *(_SKLEARN_LABELS if name == "sklearn" else [])])
        mapping[name] = (url, (None, str(path)))
    return mapping
