"""Answers that are kept, and given again: what a fit makes of them follows from no row.

What a fit released may be used again at no price. A second fit that is given the answers of a
first one, in their order, makes another model of them, such as that of another penalty. It charges
nothing and draws nothing, and nothing that it answers follows from rows, though it checks them as
any fit does; an answer goes only to a release of the same price and sensitivity, so that it is
noised as the second fit takes it to be.
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
    """Keeps the answers of a fit.

    Attributes
    ----------
    answers : list
        What was asked, and the answer.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def opened(self, *args: Any) -> Session:
        """Return releases whose answers are kept."""
        return _Recorded(self.answers, *args)


class Replay:
    """Gives one fit, of one step or several, the answers that were kept, and no others.

    Parameters
    ----------
    recording : Recording
    """

    def __init__(self, recording: Recording) -> None:
        self._answers = iter(recording.answers)

    def opened(self, *args: Any) -> Session:
        """Return releases that answer so."""
        return _Replayed(self._answers, *args)


def opened_session(stream: Stream, ledger: Ledger, progress: Progress | None,
                   admission: Any) -> Session:
    """Return the way out of a fit: that of its own noise, or of answers that are given again.

    What has admitted the fit says which.
    """
    opened: Callable[..., Session] = (Session if admission.answers is None
                                      else admission.answers.opened)
    return opened(stream, ledger, progress, admission)


class _Keeping(Session):
    """A session beside answers that are kept."""

    def __init__(self, answers: Any, *args: Any) -> None:
        super().__init__(*args)
        self.answers = answers


class _Recorded(_Keeping):
    """A session whose answers are kept."""

    def __call__(self, event: Elementary, read: Callable[[Batch], Any],
                 *sensitivities: Sensitivity, divisor: float = 1.0,
                 select: Callable[[FloatArray], Any] | None = None, **options: Any) -> Any:
        answer = super().__call__(event, read, *sensitivities, divisor=divisor, select=select,
                                  **options)
        self.answers.append(((event, sensitivities, divisor, select), _copied(answer)))
        return answer


class _Replayed(_Keeping):
    """A session that gives answers again, and reads nothing."""

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

    # Whatever they are asked for.
    hidden = groups = runs = index = _refused  # type: ignore[assignment]
    batches = permutation = normals = _refused  # type: ignore[assignment]


def _copied(answer: Any) -> Any:
    """Return an answer in memory of its own, as whoever gets it may change it."""
    if isinstance(answer, tuple):
        return tuple(part.copy() for part in answer)
    return answer.copy() if isinstance(answer, np.ndarray) else answer
