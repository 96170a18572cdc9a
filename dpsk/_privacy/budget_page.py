"""Self-contained HTML page on a budget, for a privacy officer."""

from __future__ import annotations

import base64
import math
import shlex
from functools import lru_cache
from typing import TYPE_CHECKING

from dpsk._privacy import accountant
from dpsk._privacy.assumptions import facts_of_charges
from dpsk._privacy.certificate_fields import escaped, rounded_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from dpsk._privacy.elementary import Event

__all__ = ["UNKNOWN_DAY", "page", "shares"]

#: Day of a charge whose ledger line was truncated, or written by a version without days.
UNKNOWN_DAY = "day unknown"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em;
       color: #1b1b1b; background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25em .8em .25em 0; border-bottom: 1px solid #ddd;
         vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums }
svg { width: 100%; height: auto } svg text { font: 13px system-ui, sans-serif; fill: #1b1b1b }
code, pre { font-size: .9em; background: #f3f3f3; padding: .1em .3em }
pre { padding: .7em; overflow-x: auto } .key { color: #555 }
"""
#: Colors that most people can tell apart, one per estimator.
_COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#882255")
_LEFT, _WIDTH, _BAR, _ROW = "#e4e4e4", 640, 26, 62
#: Units of filters, in words.
_WORDS = {"mu^2": "noisy results (mu^2)", "delta": "chances to show a row (delta)",
          "Renyi divergence": "noisy results (Renyi divergence)", "epsilon": "noisy results"}
#: Largest epsilon whose factor exp(epsilon) is stated; larger factors protect little.
_MOST_TOLD = 10.0


def shares(certificate: Any) -> list[float]:
    """Return the fraction of the budget that each release took, largest over units."""
    return [max(_shares(certificate, price).values(), default=0.0)
            for price in certificate.prices]


def page(certificate: Any, ledger: str) -> str:
    """Return the page; `ledger` is the name of the ledger file."""
    title = f"Privacy certificate{f' of {certificate.name}' if certificate.name else ''}"
    sections = [
        ("Summary", _paragraphs(_summary(certificate))),
        ("Use of the budget", _chart(certificate)),
        ("What was released", _table(certificate)),
        ("What is public", _public(certificate)),
        ("What is assumed", _assumed(certificate)),
        ("How to check this page", _check(certificate, ledger))]
    body = "\n".join(f"<h2>{name}</h2>\n{text}" for name, text in sections)
    return (f"<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
            f"<meta name='viewport' content='width=device-width'>\n"
            f"<title>{escaped(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
            f"<h1>{escaped(title)}</h1>\n<p class='key'>{certificate.date}</p>\n"
            f"{body}\n</body>\n</html>\n")


def _summary(certificate: Any) -> Iterator[str]:
    """Yield the guarantee in plain words."""
    charges, delta = certificate.charges, certificate.delta
    days = list(dict.fromkeys(sorted(charge.date for charge in charges if charge.date)))
    when = f", from {days[0]} to {days[-1]}" if len(days) > 1 else "".join(
        f", on {day}" for day in days)
    results = "1 result was" if len(charges) == 1 else f"{len(charges)} results were"
    yield (f"{results} computed from the data{when}. Random noise was added to each, so that it "
           "shows little of anybody in the data.")
    whose = "any one person's rows, however many," if certificate.unit == "group" else (
        "the values of any one row")
    yield (f"The guarantee is ({rounded_up(certificate.epsilon, 6)}, {rounded_up(delta, 3)})-"
           f"differential privacy of all results together. Replace {whose} by any others: the "
           f"probability of anything that somebody may find in the results "
           f"{_change(certificate.epsilon, delta)}.")
    yield ("It holds whatever else somebody knows, also where a result decided what was computed "
           "next. It also covers results that may still be computed within this budget.")
    if any(charge.reproducible for charge in charges):
        yield ("Noise of some results repeats under a seed: they are not private for anybody who "
               "knows or guesses it. See what is assumed.")
    share = max((sum(parts) for parts in zip(*(
        _shares(certificate, price).values() for price in certificate.prices),
        strict=True)), default=0.0)
    yield (f"{share:.1%} of the budget is used. What is computed so far has epsilon "
           f"{rounded_up(certificate.charged_epsilon, 4)} at the same delta, if no result "
           "decided what was computed next, or when to stop.")


def _change(epsilon: float, delta: float) -> str:
    """Return how far a probability may change, in words."""
    if epsilon > _MOST_TOLD:
        return (f"may change by a factor of more than {math.exp(_MOST_TOLD):,.0f}, which protects "
                "little")
    # The number after "1 in" is rounded down, so that the chance is not understated.
    chance = f", plus at most 1 in {math.floor((1.0 + 1e-12) / delta):,}" if delta else ""
    return f"changes by a factor of at most {rounded_up(math.exp(epsilon), 3)}{chance}"


def _shares(certificate: Any, price: dict[str, float]) -> dict[str, float]:
    """Return a price as fractions of the limits, by unit."""
    limits = certificate.limits
    return {unit: one / limits[unit] for unit, one in price.items() if limits[unit]}


@lru_cache(maxsize=1024)
def _alone(event: Event, delta: float) -> float:
    """Return the epsilon of one release at a delta."""
    return accountant.epsilon(event, delta)


def _chart(certificate: Any) -> str:
    """Return one bar of the consumed budget per unit, divided by release."""
    names = list(dict.fromkeys(charge.name for charge in certificate.charges))
    colors = {name: _COLORS[place % len(_COLORS)] for place, name in enumerate(names)}
    units = [unit for unit, limit in certificate.limits.items() if limit]
    parts: list[str] = []
    for row, unit in enumerate(units):
        top, start = row * _ROW + 20, 0.0
        for place, (charge, price) in enumerate(
                zip(certificate.charges, certificate.prices, strict=True), 1):
            share = _shares(certificate, price)[unit]
            if share:
                label = f"{place}. {charge.name}: {share:.1%}"
                parts.append(_bar(start, top, share, colors[charge.name], label))
            start += share
        parts.append(_bar(start, top, max(0.0, 1.0 - start), _LEFT, f"left: {1.0 - start:.1%}"))
        parts.append(f"<text x='0' y='{top - 6}'>{escaped(_WORDS[unit])}: {start:.1%} used"
                     "</text>")
    keys = "".join(f"<tr><td style='width:1em;background:{colors[name]}'></td><td>"
                   f"{escaped(name)}</td></tr>" for name in names)
    height = len(units) * _ROW
    return (f"<svg viewBox='0 0 {_WIDTH} {height}' role='img' aria-label='Use of the budget'>"
            f"{''.join(parts)}</svg>\n<table>{keys}<tr><td style='width:1em;background:{_LEFT}'>"
            "</td><td>left</td></tr></table>")


def _bar(start: float, top: int, share: float, color: str, label: str) -> str:
    return (f"<rect x='{start * _WIDTH:.2f}' y='{top}' width='{share * _WIDTH:.2f}' "
            f"height='{_BAR}' fill='{color}' stroke='#fff' stroke-width='.5'>"
            f"<title>{escaped(label)}</title></rect>")


def _table(certificate: Any) -> str:
    rows = "".join(
        f"<tr><td class='number'>{place}</td><td>{escaped(charge.name)}</td>"
        f"<td>{escaped(charge.date or UNKNOWN_DAY)}</td><td class='number'>"
        f"{rounded_up(_alone(charge.event, certificate.delta), 3)}</td>"
        f"<td class='number'>{share:.1%}</td></tr>" for place, (charge, share) in enumerate(
            zip(certificate.charges, shares(certificate), strict=True), 1))
    return ("<table><tr><th></th><th>estimator</th><th>day</th><th>epsilon by itself</th>"
            f"<th>of the budget</th></tr>{rows}</table>\n"
            "<p class='key'>A result counts also where its computation failed later. Epsilons of "
            f"single results are at delta {rounded_up(certificate.delta, 3)}, and add up to more "
            "than that of all.</p>")


def _public(certificate: Any) -> str:
    return ("<p>The guarantee does not protect the following:</p>\n" +
            _list(facts_of_charges(certificate.charges)) +
            "<p>This page also shows the day and the cost of every result.</p>")


def _assumed(certificate: Any) -> str:
    return ("<p>The guarantee holds only if all of the following is true. The results do not "
            "show whether it is: ask whoever computed them.</p>\n" + _list(certificate.assumed))


def _check(certificate: Any, ledger: str) -> str:
    text = base64.b64encode(certificate.to_json(indent=2).encode()).decode()
    steps = [
        "<a download='certificate.json' href='data:application/json;base64," + text +
        "'>Save the certificate</a> as <code>certificate.json</code>.",
        f"Ask for the ledger of the budget, the file <code>{escaped(ledger)}</code>. The "
        "program wrote a line in it before each result was computed.",
        "Run <pre>python -m dpsk.verify certificate.json " + escaped(shlex.quote(ledger)) +
        "</pre> It "
        "computes all costs again, compares every release with the ledger, and says whether "
        "results were computed since. It needs no data.",
        "Compare what it prints with this page. A file can be made by anybody: check who signed "
        "page and ledger, as you would for any other document."]
    versions = ", ".join(f"{name} {version}" for name, version in certificate.versions)
    return (f"<ol>{''.join(f'<li>{step}</li>' for step in steps)}</ol>\n"
            f"<p class='key'>Ledger: {len(certificate.charges) + 1} lines, checksum "
            f"<code>{certificate.checksum}</code>. Made by {escaped(versions)}.</p>")


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n".join(f"<p>{escaped(text)}</p>" for text in texts)


def _list(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escaped(text)}</li>" for text in texts) + "</ul>\n"
