"""Measured default values, with references to the pages that measured them."""
