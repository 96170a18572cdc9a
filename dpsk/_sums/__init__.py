"""Sums over rows, of which each adds a vector whose norm is clipped.

`clip` has the clip and its proof, `terms` the loop. A new model needs terms, and no sum.
"""
