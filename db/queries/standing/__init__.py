"""What stands on the plant: repeats, clears, floods, shelving, and which order each alarm belongs to."""
