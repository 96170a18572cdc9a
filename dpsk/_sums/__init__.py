"""Sums over rows: every row adds one vector, whose norm is clipped.

`clip` holds the clip and its proof, and `terms` the loop that clips and adds. A new model needs
a class of terms, but no new sum.
"""
