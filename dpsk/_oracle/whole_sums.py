"""What sums of several places add up to, before it is mapped once."""

__all__ = ["WholeSums"]


class WholeSums:
    """Sums whose `gradient` and `curvature` are added over places as they are.

    Those that are mapped after they are added say what is added and what it then stands for.
    """

    def whole_gradient(self, theta, rows=None):
        """Return what is added over places."""
        return self.gradient(theta, rows)

    def from_whole_gradient(self, whole):
        """Return the `gradient` that a total stands for."""
        return whole

    def whole_curvature(self, theta, *bound):
        """Return what is added over places."""
        return self.curvature(theta, *bound)

    def from_whole_curvature(self, whole, *_):
        """Return the `curvature` that a total stands for."""
        return whole
