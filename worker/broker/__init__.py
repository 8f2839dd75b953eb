"""Redis as Celery uses it: what comes off it is read strictly; what is asked through it, answered sparely."""
