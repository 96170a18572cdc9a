"""What displays share: a line on axes of its own or on given ones."""

from sklearn.utils._optional_dependencies import check_matplotlib_support

__all__ = ["LineDisplay"]


class LineDisplay:
    """A display of one line; matplotlib is imported where it is drawn."""

    def _drawn(self, ax, name, draw, x, y, style, **labels):
        """Draw the line by a method of the axes, and set the attributes that displays have."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        (self.line_,) = getattr(ax, draw)(x, y, label=name)
        # Before the legend, which shows the line as it is then.
        self.line_.set(**style)
        ax.set(**labels)
        if name is not None:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
