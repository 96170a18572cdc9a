"""Helpers of displays: draw a line on new or on given axes."""

from sklearn.utils._optional_dependencies import check_matplotlib_support

__all__ = ["LineDisplay"]


class LineDisplay:
    """A display of one line; matplotlib is imported where it is drawn."""

    @classmethod
    def _check_drawing(cls, way, ax, name, style):
        """Raise the errors of drawing with these arguments, before anything is released.

        Parameters
        ----------
        way : str
            Name of the method that draws, for messages.
        ax, name, style : object
            As for `_drawn`.
        """
        check_matplotlib_support(f"{cls.__name__}.{way}")
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure

        if ax is not None and not isinstance(ax, Axes):
            raise TypeError(f"ax of type {type(ax).__name__}: must be axes of matplotlib, or "
                            "None.")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name={name!r}: must be a string, or None.")
        (line,) = Figure().subplots().plot([0.0], [0.0])
        line.set(**style)

    def _drawn(self, ax, name, draw, x, y, style, **labels):
        """Draw the line by a method of the axes, and set the attributes that displays have."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        (self.line_,) = getattr(ax, draw)(x, y, label=name)
        # Before the legend, which copies the style of the line.
        self.line_.set(**style)
        ax.set(**labels)
        if name is not None:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
