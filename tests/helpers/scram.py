"""A PostgreSQL role whose password is really asked for, on the tests' server, which trusts all others."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from tests.helpers.servers import PostgresServer


@contextmanager
def scram_role(server: PostgresServer, role: str, password: str) -> Iterator[None]:
    """The role, with a database of the same name that is its own; both are gone at the end."""
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f'local all "{role}" scram-sha-256\n{before}')
    server.execute("SELECT pg_reload_conf()")
    server.execute(f"""CREATE ROLE "{role}" LOGIN PASSWORD '{password}'""")
    server.execute(f'CREATE DATABASE "{role}" OWNER "{role}"')
    try:
        yield
    finally:
        server.drop(role)
        server.execute(f'DROP ROLE "{role}"')
        rules.write_text(before)
        server.execute("SELECT pg_reload_conf()")


def scram_url(server: PostgresServer, role: str, password: str) -> str:
    """Its address on the server's socket."""
    return f"postgresql+psycopg://{role}:{quote(password, safe='')}@/{role}?host={server.folder / 's'}"
