"""An alarm's own way: stored, dispatched, held by one attempt at a time, settled."""
