"""Covering sets: a few cases of a product that hold every value of every parameter."""

import pytest

__all__ = ["covering_set", "leave_the_rest_to_thorough", "make_no_cases_of"]


def covering_set(ids, most=None):
    """Return ids whose parts, between dashes, are those of all of `ids`.

    At most `most` of them where it is given, which are then spread evenly.
    """
    parts = {one: set(one.split("-")) for one in ids}
    missing, chosen = set().union(*parts.values()), []
    while missing:
        best = max(parts, key=lambda one: len(parts[one] & missing))
        chosen.append(best)
        missing -= parts.pop(best)
    step = 1 if most is None else -(-len(chosen) // most)
    return chosen[::step]


def leave_the_rest_to_thorough(items):
    """Mark as thorough the cases of tests marked `covering` that their covering set can spare."""
    cases = {}
    for item in items:
        if (item.get_closest_marker("covering") and hasattr(item, "callspec")
                and not item.get_closest_marker("audit")):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for same in cases.values():
        most = same[0].get_closest_marker("covering").kwargs.get("most")
        kept = set(covering_set([item.callspec.id for item in same], most))
        for item in same:
            if item.callspec.id not in kept:
                item.add_marker(pytest.mark.thorough)


def make_no_cases_of(mark, definition):
    """Leave cases that bear a mark out of a test that has others.

    They are most of all cases, and each run would make all of them only to leave them out.
    """
    own = definition.own_markers
    for place, marker in enumerate(own):
        # Lists of ids have one for every case.
        if (marker.name != "parametrize" or len(marker.args) != 2
                or isinstance(marker.kwargs.get("ids"), (list, tuple))):
            continue
        names, cases = marker.args
        kept = [case for case in cases
                if all(each.name != mark for each in getattr(case, "marks", ()))]
        if kept:
            own[place] = pytest.mark.parametrize(names, kept, **marker.kwargs).mark
