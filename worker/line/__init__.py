"""From the stream to the order: alarms taken in, tasks sent for the worst of them, each handled once."""
