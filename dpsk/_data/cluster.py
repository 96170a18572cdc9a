"""Places that are workers of Dask: functions go there, and sums come back.

Every pass is one task a place. A worker that is lost takes nothing with it: what it kept is made
again elsewhere, and sums that are exact are the same. Errors come back as values: what a worker
raises, it logs.
"""

import dis
from dataclasses import dataclass

import numpy as np

from dpsk._data.parted import Places

__all__ = ["Cluster", "Refusal"]

_RAISE = dis.opmap["RAISE_VARARGS"]


@dataclass(frozen=True)
class Refusal:
    """Why there is no answer, in words that carry no data value.

    Parameters
    ----------
    kind : type
    message : str
    """

    kind: type
    message: str

    @classmethod
    def of(cls, error):
        """Return what may be known of an error: its text only where this library raised it."""
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        frame = trace.tb_frame
        # Compiled code has no frame: what it raises, and may quote, seems to come from its caller.
        ours = (frame.f_globals.get("__name__", "").split(".")[0] == "dpsk"
                and frame.f_code.co_code[trace.tb_lasti] == _RAISE)
        kind = next((kind for kind in (TypeError, ValueError) if type(error) is kind),
                    RuntimeError)
        return cls(kind, str(error) if ours else f"{type(error).__name__} on a worker; the "
                   "details are withheld, as they may quote data.")


class Cluster(Places):
    """Places on workers of a client of Dask.

    The scheduler spreads what needs nothing, and sends functions to where most of what they need
    is. Names of workers would outlive these: with all of them lost, tasks that ask for one of
    them wait forever.

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
            # Sums without noise do not stay on workers.
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
    """Return what a function makes of what is kept; why not, if it raises."""
    for each in kept:
        if isinstance(each, Refusal):
            return each
    try:
        with np.errstate(all="ignore"):
            return function(*kept)
    except Exception as error:
        return Refusal.of(error)
