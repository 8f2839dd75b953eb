"""What a person reads of the database, drawn for a terminal."""
