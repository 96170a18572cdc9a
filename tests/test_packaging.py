"""What a release is made of says the same everywhere: versions, dependencies, Pythons."""

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpsk

_ROOT = Path(__file__).parent.parent
yaml = pytest.importorskip("yaml", reason="files of YAML are read")


def _text(name):
    return (_ROOT / name).read_text(encoding="utf-8")


def _declared(key):
    """Return the strings of a list of pyproject.toml, without comments."""
    body = re.search(rf"^{key} = \[(.*?)\]$", _text("pyproject.toml"), re.MULTILINE | re.DOTALL)
    return re.findall(r'"([^"]+)"', re.sub("#.*", "", body.group(1)))


def test_version_and_date_are_those_of_the_changelog():
    version, date = re.search(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)$", _text("CHANGELOG.md"),
                              re.MULTILINE).groups()
    citation = yaml.safe_load(_text("CITATION.cff"))
    assert version == dpsk.__version__ == citation["version"]
    assert date == citation["date-released"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    recipe = yaml.safe_load(_text("recipe/recipe.yaml"))
    assert recipe["context"]["version"] == version


def test_the_recipe_needs_what_the_package_needs():
    run = yaml.safe_load(_text("recipe/recipe.yaml"))["requirements"]["run"]
    packages = {line.replace(" ", "") for line in run if not line.startswith("python ")}
    assert packages == set(_declared("dependencies"))


def test_every_python_that_is_declared_is_tested():
    declared = {line.rpartition(" ")[2] for line in _declared("classifiers")
                if re.search(r":: 3\.\d+$", line)}
    jobs = yaml.safe_load(_text(".github/workflows/ci.yml"))["jobs"]
    assert set(jobs["test"]["strategy"]["matrix"]["python"]) == declared
    least = re.search(r'requires-python = ">=(.*)"', _text("pyproject.toml")).group(1)
    recipe = yaml.safe_load(_text("recipe/recipe.yaml"))
    assert least in declared and recipe["context"]["python_min"] == least


@pytest.mark.parametrize("name", ["ci", "audit", "release"])
def test_workflows_run_targets_that_are_there(name):
    targets = set(re.findall(r"^([\w-]+):", _text("Makefile"), re.MULTILINE))
    for job in yaml.safe_load(_text(f".github/workflows/{name}.yml"))["jobs"].values():
        for step in job["steps"]:
            assert step.keys() & {"run", "uses"}
            for words in re.findall(r"^make (.+)$", step.get("run", ""), re.MULTILINE):
                assert set(words.split()) <= targets, words


def test_hooks_are_local():
    for repo in yaml.safe_load(_text(".pre-commit-config.yaml"))["repos"]:
        assert repo["repo"] == "local"
        for hook in repo["hooks"]:
            assert hook["language"] == "python"
            assert all("==" in each or each.startswith("tomli")
                       for each in hook["additional_dependencies"])


def test_every_public_module_is_reached_by_its_name_alone():
    """In a process of its own, as tests have imported them by now."""
    names = sorted(name for _, name, _ in pkgutil.iter_modules(dpsk.__path__)
                   if not name.startswith("_") and name not in ("audit", "verify"))
    code = (f"import dpsk; [getattr(dpsk, name).__name__ for name in {names}]; "
            f"assert set({names}) <= set(dir(dpsk)) and not hasattr(dpsk, 'nothing')")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.thorough
def test_every_audit_is_collected():
    """`make audit` makes cases that no other run makes, and runs seldom."""
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p",
                           "no:cacheprovider", "-m", "audit and not bench", "tests"],
                          capture_output=True, text=True, cwd=_ROOT)
    assert done.returncode == 0, done.stdout[-2000:]
