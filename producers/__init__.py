"""The way in: an equipment alarm becomes an event on the Redis queue."""
