"""The examples of CONTRIBUTING are built from the page, and meet the contracts of their kind."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.page_examples import apply_examples, examples

_ROOT = Path(__file__).parent.parent
_PAGE = "CONTRIBUTING.md"
#: The words of the page outside of its examples.
_MOST_WORDS = 1_800


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a copy of the package and its tests with what the page adds."""
    root = tmp_path_factory.mktemp("built")
    without_caches = shutil.ignore_patterns("__pycache__", "_build", "generated", "auto_examples")
    for name in ("dpsk", "tests", "docs"):
        shutil.copytree(_ROOT / name, root / name, ignore=without_caches)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(_ROOT / name, root / name)
    apply_examples(_PAGE, root)
    return root


def test_the_page_is_short():
    text = (_ROOT / _PAGE).read_text(encoding="utf-8")
    assert len(re.sub(r"^```.*?^```\n", "", text, flags=re.M | re.S).split()) <= _MOST_WORDS


def test_every_file_of_an_example_is_new_or_is_there():
    for language, path, _ in examples(_PAGE):
        assert (_ROOT / path).exists() == (language == "diff"), path


@pytest.mark.thorough
@pytest.mark.parametrize("names, files", [
    ("log_cosh", ["tests/contracts/test_losses.py", "tests/contracts/test_curvature.py"]),
    ("LogCosh or adagrad or import", ["tests/test_architecture.py"]),
    ("standardization", ["tests/contracts/test_row_stages.py"]),
    ("adagrad or DPLogCoshRegressor", [
        f"tests/{name}.py" for name in (
            "contracts/test_prices", "contracts/test_neighbors", "contracts/test_solvers",
            "estimators/test_certificate", "estimators/test_sparse")]),
    ("adagrad and squared", ["tests/audits/test_zero_noise.py"]),
    ("DPLogCoshRegressor", ["dpsk/linear_model/_log_cosh.py"])],
    ids=["loss", "names", "stage", "fits", "optimum", "doctest"])
def test_the_examples_meet_the_contracts(names, files, built):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", names,
         "-m", "not audit and not bench and not site"],
        cwd=built, env={**os.environ, "PYTHONPATH": str(built)}, capture_output=True, text=True,
        check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert re.search(r"\d+ passed", done.stdout)
