"""The plant's files as the tests break them: the head of each, and real ones that others made."""

from pathlib import Path

from db.plant.loader import FILES

HEADERS = {row.file: ",".join(row.model_fields) for row in FILES}
REAL_DATA = Path(__file__).parents[3] / "shared" / "data" / "xiangjin_gbk"
