"""A second implementation of clipped sums, which tests compare with those of `dpsk._sums`.

Each class here has a clip and a loop over blocks of its own.
"""
