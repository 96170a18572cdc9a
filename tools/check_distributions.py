"""Check what a release would upload, as those who install it will meet it.

    python tools/check_distributions.py dist
    python tools/check_distributions.py dist --python python3.10 --constraint tests/oldest.txt

Sizes and contents of the wheel and of the source distribution are looked at first. Each is then
installed alone into a new virtual environment of the given interpreter, and the snippets of the
README run there, in a folder that holds nothing, with warnings as errors.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
#: Bytes that a distribution may have.
_LARGEST = 1_000_000
#: What has no place in an installed package, or in what is built into one.
_FOREIGN = re.compile(r"(^|/)(tests|docs|benchmarks|tools|\.venv|__pycache__)/|\.py[cod]$")
_NEEDED = {"wheel": [r"^dpsk/__init__\.py$", r"\.dist-info/licenses/LICENSE$"],
           "sdist": [r"/pyproject\.toml$", r"/README\.md$", r"/LICENSE$", r"/CHANGELOG\.md$",
                     r"/SECURITY\.md$", r"/CITATION\.cff$", r"/dpsk/__init__\.py$"]}


def _names(archive):
    """Return the kind of a distribution and the names of its files."""
    if archive.suffix == ".whl":
        return "wheel", zipfile.ZipFile(archive).namelist()
    with tarfile.open(archive) as files:
        return "sdist", [member.name for member in files if member.isfile()]


def contents_faults(archive):
    """Yield a sentence for each thing that is wrong with what a distribution holds."""
    kind, names = _names(archive)
    if archive.stat().st_size > _LARGEST:
        yield f"{archive.name} has {archive.stat().st_size} bytes, more than {_LARGEST}"
    for name in filter(_FOREIGN.search, names):
        yield f"{archive.name} holds {name}"
    for pattern in _NEEDED[kind]:
        if not any(re.search(pattern, name) for name in names):
            yield f"{archive.name} lacks {pattern}"
    there = "\n".join(names)
    for path in (_ROOT / "dpsk").rglob("*"):
        part = path.relative_to(_ROOT).as_posix()
        if path.suffix in {".py", ".typed", ".json"} and part not in there:
            yield f"{archive.name} lacks {part}"


def snippets(page):
    """Return the Python blocks of a page of Markdown as one program."""
    text = (_ROOT / page).read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def run_installed(archive, python, constraint, page):
    """Install a distribution alone in a new environment, and run the snippets of a page there."""
    with tempfile.TemporaryDirectory() as folder:
        home, empty = Path(folder, "environment"), Path(folder, "empty")
        empty.mkdir()
        if python:
            subprocess.run([python, "-m", "venv", home], check=True)
        else:
            venv.create(home, with_pip=True)
        own = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        pinned = ["-c", constraint.resolve()] if constraint else []
        subprocess.run([own, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                        *pinned, archive.resolve()], check=True)
        subprocess.run([own, "-m", "pip", "check"], check=True, stdout=subprocess.DEVNULL)
        program = ("import dpsk, pathlib, sys\n"
                   "assert pathlib.Path(sys.prefix) in pathlib.Path(dpsk.__file__).parents\n"
                   + snippets(page))
        # Isolated from this folder, from variables and from the user's packages.
        subprocess.run([own, "-I", "-W", "error", "-c", program], check=True, cwd=empty)


def main():
    """Check all distributions of a folder, and exit with what is wrong with them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the wheel and the archive are")
    parser.add_argument("--python", help="interpreter of the environments; this one otherwise")
    parser.add_argument("--constraint", type=Path, help="pins of what is installed beside it")
    parser.add_argument("--page", default="README.md", help="the page whose snippets run")
    given = parser.parse_args()
    archives = sorted([*given.folder.glob("*.whl"), *given.folder.glob("*.tar.gz")])
    if len(archives) != 2:
        sys.exit(f"{given.folder} holds {len(archives)} distributions in the place of two; empty "
                 "it and build again")
    faults = [fault for archive in archives for fault in contents_faults(archive)]
    if faults:
        sys.exit("\n".join(faults))
    for archive in archives:
        print(f"{archive.name}, {archive.stat().st_size} bytes: installing", flush=True)
        run_installed(archive, given.python, given.constraint, given.page)
    print("installed and run")


if __name__ == "__main__":
    main()
