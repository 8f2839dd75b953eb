"""The commands `alarm-db` and `work-orders`."""
