"""The check of prose finds what is planted, and passes over what is plain."""

import importlib.util
from pathlib import Path

import pytest

_PATH = Path(__file__).parent.parent / "tools" / "prose.py"
_SPEC = importlib.util.spec_from_file_location("prose", _PATH)
prose = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(prose)

_LONG = " ".join(["word"] * 33)
#: Twenty sentences, and a part of what is said of each.
_PLANTED = [
    ("See the sharp edges of this method.", "limitations"),
    ("People of several rows are protected.", "user-level privacy"),
    ("Values of states come from transitions.", "policy evaluation"),
    ("A classifier of drawn rows is less accurate.", "synthetic data"),
    ("Columns of words are hashed.", "categorical features"),
    ("A table of words and gaps is fitted as it is.", "categorical features"),
    ("The loss law is composed on a grid.", "privacy loss distribution"),
    ("A head-room of 2^-8 is kept.", "rounding slack"),
    ("Hats stand at the knots.", "linear B-spline basis"),
    ("An int repeats the public draws.", "public randomness"),
    ("Weights are taken on trust.", "unverified assumption"),
    ("Put a fixed map before the model.", "feature extractor"),
    ("Bounds are declared at no price.", "privacy cost"),
    ("The last step gets what is left.", "remainder"),
    ("Noise is added in the place of a bound.", "instead of"),
    ("Noise is drawn beside the sums.", "next to"),
    ("Scores are those of the test rows.", "repeat the noun"),
    ("What a release costs is its event.", "a noun as the subject"),
    ("It is mu = 0.026478457191432082 here.", "three or four digits"),
    (f"A sentence of one {_LONG}.", "a sentence of"),
]
_PLAIN = """# A page

Clipping bounds the *norm* of each row. The cost is `0.026478457191432082` in code.

    What stands in code is not read beside prose.

```python
print("What is in a block, those of it.")
```

- What does it cost? The [page on cost](of.md#those-of-it) says so.

| term | meaning |
|---|---|
| noise | added after the sum, over words that a table may well have in any number it likes to \
have, as nobody reads a row of a table as a sentence, and neither does this |
"""


@pytest.mark.parametrize(("sentence", "said"), _PLANTED)
def test_a_planted_sentence_is_found_at_its_line(sentence, said):
    found = list(prose.findings(f"# Title\n\nAll is well.\n\n- {sentence}\n"))
    assert found and {line for line, _ in found} == {5}
    assert any(said in message for _, message in found)


def test_a_long_paragraph_is_found():
    text = "Title\n\n" + "Ten words stand in this short sentence of a page. " * 12
    (line, message), = prose.findings(text)
    assert line == 3 and "a paragraph of 120 words" in message


def test_plain_pages_code_and_addresses_are_passed_over():
    assert not list(prose.findings(_PLAIN))


@pytest.mark.parametrize("first", [
    "What a release costs.", "Return " + "x" * 80, "Return coefficients beside their noise."])
def test_first_lines_of_docstrings_are_found(first):
    assert list(prose.docstring_findings(first))
    assert not list(prose.docstring_findings("Return the noise multiplier."))


def test_every_page_is_held():
    assert {"README.md", "docs/index.md", "docs/theory/groups.md"} < set(prose.pages())


def test_the_exit_is_by_findings(capsys):
    assert prose.main(["README.md"]) == 0
    assert not capsys.readouterr().out.strip()
