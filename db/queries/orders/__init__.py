"""Work orders and their follow-ups, as persons read and move them."""
