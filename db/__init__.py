"""The truth: alarms, work orders, follow-ups and the plant's data, on SQLite or PostgreSQL."""
