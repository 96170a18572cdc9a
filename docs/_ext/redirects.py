"""Old addresses of renamed pages: each is a small page that leads to the new one."""

import os
from pathlib import Path

#: New names by old ones, without a suffix.
MOVED = {
    "results/beyond_memory": "results/large_data",
    "results/generative": "results/synthetic_data",
    "results/groups": "results/fairness",
    "results/person_level": "results/user_level_privacy",
    "sharp_edges": "limitations",
    "user_guide/big_data": "user_guide/large_data",
    "user_guide/bounds": "user_guide/clipping_bounds",
    "user_guide/coefficients": "user_guide/confidence_intervals",
    "user_guide/drawing_rows": "user_guide/synthetic_data",
    "user_guide/groups": "user_guide/fairness",
    "user_guide/noise": "user_guide/noise_scale",
    "user_guide/person_level": "user_guide/user_level_privacy",
    "user_guide/pictures": "user_guide/images",
    "user_guide/ranking": "user_guide/imbalanced_classes",
    "user_guide/searches": "user_guide/hyperparameter_tuning",
    "user_guide/several_fits": "user_guide/privacy_budget",
    "user_guide/states": "user_guide/reinforcement_learning",
    "user_guide/table": "user_guide/tabular_data",
    "user_guide/unseen_work": "user_guide/asynchronous_work",
    "user_guide/workers": "user_guide/parallel_fits",
}
# The script keeps the place on the page; the tag serves browsers without scripts.
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>This page has moved</title>
<script>location.replace("{target}" + location.hash);</script>
<meta http-equiv="refresh" content="0; url={target}"><link rel="canonical" href="{target}">
</head><body><a href="{target}">This page has moved.</a></body></html>
"""


def _write(app, failure):
    if failure is not None or app.builder.format != "html":
        return
    for old, new in MOVED.items():
        if new not in app.env.found_docs or old in app.env.found_docs:
            raise ValueError(f"{old}: no redirect to {new}")
        target = os.path.relpath(f"{new}.html", Path(old).parent)
        (Path(app.outdir) / f"{old}.html").write_text(_PAGE.format(target=target), "utf-8")


def setup(app):
    """Write the pages when all others are written."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
