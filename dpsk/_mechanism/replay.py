"""Recorded answers of a fit, replayed to another fit at no privacy cost (post-processing).

A second fit that gets the released answers of a first one, in order, can make another model from
them, for example with another penalty. It is not charged and draws no noise. It validates rows as
any fit does, but its model depends on the recorded answers only. An answer is replayed only to a
release of the same event and sensitivity, so its noise is what the second fit assumes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._mechanism.sensitivity import Sensitivity
    from dpsk._mechanism.session import Batch
    from dpsk._privacy.elementary import Elementary
    from dpsk._privacy.ledger import Ledger
    from dpsk._privacy.noise.streams import Stream
    from dpsk._progress import Progress
    from dpsk._typing import FloatArray

__all__ = ["Recording", "Replay", "opened_session"]


class Recording:
    """Record the answers of a fit.

    Attributes
    ----------
    answers : list
        Pairs of a query and its answer.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def opened(self, *args: Any) -> Session:
        """Return a session whose answers are recorded."""
        return _Recorded(self.answers, *args)


class Replay:
    """Replay recorded answers to one fit, of one or several steps, and no others.

    Parameters
    ----------
    recording : Recording
    """

    def __init__(self, recording: Recording) -> None:
        self._answers = iter(recording.answers)

    def opened(self, *args: Any) -> Session:
        """Return a session that replays the answers."""
        return _Replayed(self._answers, *args)


def opened_session(stream: Stream, ledger: Ledger, progress: Progress | None,
                   admission: Any) -> Session:
    """Return the session of a fit: with fresh noise, or with replayed answers.

    The admission of the fit decides which.
    """
    opened: Callable[..., Session] = (Session if admission.answers is None
                                      else admission.answers.opened)
    return opened(stream, ledger, progress, admission)


class _Keeping(Session):
    """Base of sessions with recorded answers."""

    def __init__(self, answers: Any, *args: Any) -> None:
        super().__init__(*args)
        self.answers = answers


class _Recorded(_Keeping):
    """A session that records its answers."""

    def __call__(self, event: Elementary, read: Callable[[Batch], Any],
                 *sensitivities: Sensitivity, divisor: float = 1.0,
                 select: Callable[[FloatArray], Any] | None = None, **options: Any) -> Any:
        answer = super().__call__(event, read, *sensitivities, divisor=divisor, select=select,
                                  **options)
        self.answers.append(((event, sensitivities, divisor, select), _copied(answer)))
        return answer


class _Replayed(_Keeping):
    """A session that replays answers and reads no rows."""

    def __call__(self, event: Elementary, read: Callable[[Batch], Any],
                 *sensitivities: Sensitivity, divisor: float = 1.0,
                 select: Callable[[FloatArray], Any] | None = None, **options: Any) -> Any:
        asked, answer = next(self.answers, (None, None))
        if asked != (event, sensitivities, divisor, select):
            raise RuntimeError("What this fit releases is not what was kept, so it does not "
                               "follow from it.")
        return _copied(answer)

    def _refused(self, *args: Any) -> Any:
        raise RuntimeError("This fit draws by itself, so it does not follow from what was kept.")

    # These draw from the stream or charge the ledger, so a replay refuses them.
    hidden = groups = runs = index = _refused  # type: ignore[assignment]
    batches = permutation = normals = _refused  # type: ignore[assignment]


def _copied(answer: Any) -> Any:
    """Return a copy of an answer, because the caller may change it in place."""
    if isinstance(answer, tuple):
        return tuple(part.copy() for part in answer)
    return answer.copy() if isinstance(answer, np.ndarray) else answer
