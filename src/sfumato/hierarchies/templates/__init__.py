"""Templates: hierarchies of public facts, by name. What they say of a value depends on no other value."""
