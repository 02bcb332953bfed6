"""Which words of two languages belong together, learned from nothing but sentences and their translations."""
