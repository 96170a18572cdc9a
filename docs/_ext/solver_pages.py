"""A page of options for every solver, and the table of them all, from the code at each build.

Everything comes from the registries of `dpsk._solvers` and from docstrings: what is an option and
what it means, what a solver needs, which estimators offer it, and what it releases.
"""

import importlib
import inspect
import pkgutil
import re
import shutil
import textwrap
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path

from numpydoc.docscrape import NumpyDocString
from sphinx.util.docutils import SphinxDirective

import dpsk
from dpsk import _defaults, _solvers
from dpsk._objective.requirements import POSITIVE_DELTA
from dpsk._solvers.base import NAMED_OPTIONS
from dpsk._solvers.first_order import schedules

#: Headings, the registry behind each, and what is put before the names of its pages.
FAMILIES = [
    ("Of one model", _solvers.SOLVERS, ""),
    ("Of saddle problems", _solvers.SADDLE_SOLVERS, ""),
    ("Of values of states", _solvers.VALUE_SOLVERS, ""),
    ("Of a generator against a critic", _solvers.ADVERSARIAL_SOLVERS, "wgan_"),
    ('What "auto" stands for at an infinite epsilon', _solvers.NOISELESS, ""),
]
#: Pages of theory that are not named after their solver.
_THEORY = {"svrgpp": "svrg", "minibatch_stgd": "stgd", "lstd": "temporal_differences",
           "td": "temporal_differences", "wgan_sgda": "wgan", "wgan_privatediff": "wgan"}


def solvers():
    """Yield (heading, name of the page, name of the solver, class), every class once."""
    seen = set()
    for heading, registry, prefix in FAMILIES:
        for name, solver in sorted(registry.items()):
            if solver not in seen:
                seen.add(solver)
                yield heading, prefix + name, name, solver


def offering(solver):
    """Return the names of the estimators whose docstring offers a solver."""
    found = []
    for name in dpsk.__all__:
        cls = getattr(dpsk, name)
        offer = re.search(r"^solver : \{(.*?)\}", inspect.getdoc(cls) or "", re.MULTILINE)
        names = re.findall(r'"(\w+)"', offer[1]) if offer else []
        if any(cls._solvers.get(each) is solver for each in names):
            found.append(name)
    return found


def described(doc, section="Parameters"):
    """Return (type, description) by the name of an entry of a numpydoc section."""
    return {name.strip(): (entry.type, textwrap.dedent("\n".join(entry.desc)))
            for entry in doc[section] for name in entry.name.split(",")}


def read(solver):
    """Return the parsed docstring, its paragraphs without that on privacy, and that one."""
    doc = NumpyDocString(inspect.getdoc(solver))
    parts = "\n".join(doc["Extended Summary"]).split("\n\n")
    (privacy,) = [part.removeprefix("Privacy: ") for part in parts if part.startswith("Privacy: ")]
    rest = [" ".join(doc["Summary"]), *(part for part in parts if not part.startswith("Privacy:"))]
    return doc, rest, privacy[0].upper() + privacy[1:]


def options(solver):
    """Return the fields that estimators take by name, and those that are `solver_options`."""
    known = [field for field in fields(solver) if field.name in
             {*solver.options(), *NAMED_OPTIONS}]
    named = [field for field in known if field.name in NAMED_OPTIONS]
    return named, [field for field in known if field not in named]


@cache
def _rules():
    """Return the rules of defaults by name: functions, and modules that state one."""
    modules = [importlib.import_module(each.name) for package in (_defaults, _solvers)
               for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    found = {module.__name__: module for module in modules
             if module.__name__.startswith(_defaults.__name__)}
    found["schedules"] = schedules
    for module in modules:
        found |= {name: each for name, each in vars(module).items()
                  if inspect.isfunction(each) and each.__module__ == module.__name__}
    return found


def rules(text, without):
    """Return the docstrings of rules that a text names, and those that these name, by name."""
    found, waiting = {}, [text]
    while waiting:
        for name in re.findall(r"`([\w.]+)`", waiting.pop()):
            if name in _rules() and name not in {*found, *without}:
                found[name] = inspect.getdoc(_rules()[name])
                waiting.append(found[name])
    return found


def _default(field):
    return "required" if field.default is MISSING else repr(field.default).replace("'", '"')


def _entries(chosen, meanings):
    lines = []
    for field in chosen:
        kind, text = meanings[field.name]
        # "T. None" begins no list.
        text = re.sub(r"^([A-Z])\.", r"\1\\.", text)
        lines += [f"``{field.name}`` : {kind.split(', default')[0]}, default {_default(field)}",
                  textwrap.indent(text, "    "), ""]
    return lines or ["None.", ""]


def _guarantee(solver):
    if solver is _solvers.NOISELESS["exact"]:
        return "None."
    pure = POSITIVE_DELTA not in solver.requires
    return ("(epsilon, delta), and pure epsilon at ``delta=0``." if pure
            else "(epsilon, delta), with delta > 0.")


def _facts(solver):
    groups = "protected, by ``groups`` of `fit`" if solver.takes_groups else "no"
    needs = "; ".join(requirement.need for requirement in solver.requires)
    names = ", ".join(f":class:`~dpsk.{name}`" for name in offering(solver))
    return [
        f":Offered by: {names or 'no estimator by name.'}",
        f":Needs: {needs or 'nothing of loss and penalty'}.",
        f":Guarantee: {_guarantee(solver)}",
        f":Whole groups of rows: {groups}.",
        f":Networks: {'yes.' if solver.takes_networks else 'no.'}",
        f":Without noise: {'runs at ``epsilon=inf`` too.' if solver.without_noise else 'no.'}", ""]


def _title(text, line):
    return [text, line * len(text), ""]


def page(own, name, solver, theory):
    """Return the page of a solver, as reStructuredText."""
    doc, paragraphs, privacy = read(solver)
    named, further = options(solver)
    meanings = described(doc)
    lines = [*_title(f'"{name}"' + (" of DPWGAN" if own != name else ""), "="),
             "\n\n".join(paragraphs), "", *_facts(solver),
             *_title("Parameters of the estimator", "-"),
             *_entries(named, meanings),
             *_title("Keys of solver_options", "-"), *_entries(further, meanings),
             *doc["Notes"], "",
             *_title("Privacy", "-"), privacy, "",
             *_title("References", "-"), "\n".join(doc["References"]), ""]
    found = rules(inspect.getdoc(solver), meanings)
    if found:
        lines += _title("Rules", "-")
    for rule, text in sorted(found.items()):
        lines += [f"``{rule}``", textwrap.indent(text, "    "), ""]
    if theory:
        lines += [f"Proofs: :doc:`/theory/{theory}`.", ""]
    return "\n".join(lines)


def table():
    """Return the table of all solvers and their options, as Markdown."""
    lines, last = [], None
    for heading, own, name, solver in solvers():
        if heading != last:
            lines += ["", f"**{heading}**", "",
                      "| Solver | Parameters | `solver_options` | Needs |", "|---|---|---|---|"]
            last = heading
        named, further = options(solver)
        cells = [f"[`{name}`](generated/{own}.rst)",
                 ", ".join(f"`{field.name}`" for field in named),
                 ", ".join(f"`{field.name}={_default(field)}`" for field in further),
                 "; ".join(requirement.need for requirement in solver.requires)]
        lines.append("| " + " | ".join(cell or "-" for cell in cells) + " |")
    return "\n".join(lines)


class SolverTable(SphinxDirective):
    """The table of all solvers and their options."""

    def run(self):
        """Return its nodes."""
        return self.parse_text_to_nodes(table())


def write_pages(app):
    """Write the pages, and none that has lost its solver."""
    folder = Path(app.srcdir) / "solvers" / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for _, own, name, solver in solvers():
        theory = _THEORY.get(own, own)
        known = (Path(app.srcdir) / "theory" / f"{theory}.md").exists()
        text = page(own, name, solver, theory if known else None)
        (folder / f"{own}.rst").write_text(text, encoding="utf-8")


def setup(app):
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write_pages)
    app.add_directive("solver-table", SolverTable)
    return {"parallel_read_safe": True}
