"""What keeps a process and its children well: supervision, threads, back-off, logs without secrets."""
