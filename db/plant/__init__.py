"""The plant's own data: a sample of it, and the way it gets from four CSV files into the database."""

from db.plant.loader import SAMPLE, load

__all__ = ["SAMPLE", "load"]
