"""Sums over rows: every row adds one vector, whose norm is clipped.

`clip` holds the clip and its proof, `terms` the loop. A new model needs only a class of terms.
"""
