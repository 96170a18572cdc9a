"""The gallery: every example has a title, runs as it stands, and draws a picture."""

import ast
import json
import re
import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

_FOLDER = Path(__file__).parent.parent / "examples"
_NAMES = sorted(path.name for path in _FOLDER.glob("plot_*.py"))
#: A second each; all of them are run by `make audit`, and by a build of the site.
_QUICK = ["plot_choosing_epsilon.py", "plot_generated_rows.py", "plot_private_evaluation.py"]


@pytest.mark.parametrize("name", _NAMES)
def test_an_example_has_a_title_a_few_sentences_and_cells(name):
    text = (_FOLDER / name).read_text(encoding="utf-8")
    _, title, line, empty, *sentences = ast.get_docstring(ast.parse(text), clean=False).split("\n")
    assert line == "=" * len(title) and not empty and len(" ".join(sentences)) > 100
    assert len(re.findall(r"^# %%$", text, re.MULTILINE)) >= 2


@pytest.mark.parametrize("name", [
    name if name in _QUICK else pytest.param(name, marks=pytest.mark.audit) for name in _NAMES])
def test_an_example_runs_and_draws_a_picture(name, pyplot, monkeypatch):
    # On what comes with scikit-learn, wherever it runs.
    monkeypatch.delenv("DPSK_DATA", raising=False)
    monkeypatch.setattr(pyplot, "show", lambda: None)
    text = (_FOLDER / name).read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Of the models without privacy, beside which the others are drawn.
        warnings.simplefilter("ignore", ConvergenceWarning)
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
    assert pyplot.get_fignums()
    for number in pyplot.get_fignums():
        for ax in pyplot.figure(number).axes:
            assert ax.has_data()


def test_the_notebook_goes_from_a_table_to_a_certificate(pyplot, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = (_FOLDER / "notebooks" / "quickstart.ipynb").read_text(encoding="utf-8")
    codes = ["".join(cell["source"]) for cell in json.loads(text)["cells"]
             if cell["cell_type"] == "code"]
    assert len(codes) == 10
    names, shown = {"__name__": "__main__"}, []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, code in enumerate(codes):
            *body, last = ast.parse(code).body
            exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
                shown.append(hasattr(value, "_repr_html_") and value._repr_html_())
            else:
                exec(compile(ast.Module([last], []), f"cell {number}", "exec"), names)
    # A table, the model, its certificate, the total and the budget.
    assert sum(map(bool, shown)) == 5 and len(pyplot.get_fignums()) == 3
    assert Path("certificate.json").exists()
