"""Every number that was measured, beside the page that measured it."""
