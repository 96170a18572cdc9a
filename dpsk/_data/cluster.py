"""Rows on Dask workers: functions are sent to the workers, and sums come back.

Every pass is one task per place. If a worker is lost, its rows are computed again on another one,
and exact sums stay the same. Errors come back as values, because a worker logs exceptions, which
may quote data.
"""

import dis
from dataclasses import dataclass

import numpy as np

from dpsk._data.parted import Places

__all__ = ["Cluster", "Refusal"]

_RAISE = dis.opmap["RAISE_VARARGS"]


@dataclass(frozen=True)
class Refusal:
    """An error of a worker, with a message that carries no data value.

    Parameters
    ----------
    kind : type
    message : str
    """

    kind: type
    message: str

    @classmethod
    def of(cls, error):
        """Return the safe part of an error: its text only if this library raised it."""
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        frame = trace.tb_frame
        # Compiled code has no frame, so its errors, which may quote data, point at our frame. Only
        # a `raise` statement there shows that this library wrote the message.
        ours = (frame.f_globals.get("__name__", "").split(".")[0] == "dpsk"
                and frame.f_code.co_code[trace.tb_lasti] == _RAISE)
        kind = next((kind for kind in (TypeError, ValueError) if type(error) is kind),
                    RuntimeError)
        return cls(kind, str(error) if ours else f"{type(error).__name__} on a worker; the "
                   "details are withheld, as they may quote data.")


class Cluster(Places):
    """Places on the workers of a Dask client.

    The scheduler spreads tasks without inputs, and runs other tasks where most of their inputs
    are. Tasks are not pinned to named workers: if these workers were lost, the tasks would wait
    forever.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client):
        self._client = client

    def keep(self, functions, *kept):
        return self._submitted(functions, *kept)

    def fetch(self, functions, *kept):
        futures = self._submitted(functions, *kept)
        failed = None
        try:
            answers = self._client.gather(futures)
        except Exception as error:
            failed = type(error).__name__
        finally:
            # Sums without noise must not stay on workers.
            for future in futures:
                future.release()
        if failed is not None:
            raise RuntimeError(f"{failed}: the rows of a place were lost and could not be made "
                               "again; what was charged stays charged. Workers need memory for "
                               "their chunks, and chunks that can be computed again.")
        for answer in answers:
            if isinstance(answer, Refusal):
                raise answer.kind(answer.message)
        return answers

    def _submitted(self, functions, *kept):
        return [self._client.submit(_run, function, *each, pure=False)
                for function, *each in zip(functions, *kept, strict=True)]


def _run(function, *kept):
    """Return ``function(*kept)``, or a `Refusal` if it raises or an input is one."""
    for each in kept:
        if isinstance(each, Refusal):
            return each
    try:
        with np.errstate(all="ignore"):
            return function(*kept)
    except Exception as error:
        return Refusal.of(error)
