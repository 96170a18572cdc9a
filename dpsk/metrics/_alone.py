"""One metric of an evaluation that is released for it alone."""

from dataclasses import replace

__all__ = ["alone"]


def alone(evaluation, metric, *data, **options):
    """Release an evaluation; return one metric of it, with the certificate."""
    evaluated = evaluation.from_predictions(*data, **options)
    found = metric(evaluated) if callable(metric) else getattr(evaluated, metric)()
    return replace(found, privacy_=evaluated.privacy_)
