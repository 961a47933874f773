"""Every failure at every call of a test, one at a time: what there is to try, how it is tried, what
came of it."""
