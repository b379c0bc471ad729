"""Price lists of other tools, as tariffs."""
