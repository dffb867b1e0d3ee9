"""The edge where queued runs are executed: queue, supervised child processes, reaper."""
