"""Search settings on the tuning split, before a campaign; nothing here enters the balance."""
