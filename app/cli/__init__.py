"""The command line: the demonstration over the client, and the operator's commands over what main wires."""
