"""The commands of `alarm-worker`."""
