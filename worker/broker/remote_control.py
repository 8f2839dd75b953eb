"""How a worker takes `celery inspect` and `celery control`: it answers without secrets, and obeys little."""

from typing import Any

from celery.worker import control
from kombu.utils.url import maybe_sanitize_url

_OBEYED = ("enable_events", "disable_events", "heartbeat")

# Whoever can write to the broker could otherwise stop a worker, or make it stop consuming, with one message.
for _name, _command in control.Panel.meta.items():
    if _command.type == "control" and _name not in _OBEYED:
        control.Panel.data.pop(_name, None)


@control.inspect_command()
def stats(state: Any, **_: Any) -> dict[str, Any]:
    """Request worker statistics/information."""
    said: dict[str, Any] = state.consumer.controller.stats()
    broker = said.get("broker")
    if isinstance(broker, dict):
        # Celery leaves the password out, but not out of a socket's address, and not that of a TLS key.
        tls = {name: value for name, value in (broker.get("ssl") or {}).items() if "password" not in name}
        said["broker"] = broker | {"hostname": maybe_sanitize_url(broker["hostname"]), "ssl": tls}
    return said
