"""What callers of the functions can get wrong: each error names the argument, the fault and the remedy."""

from __future__ import annotations

from privacy_risk.answers import ClientError


class InvalidArgument(ClientError, ValueError):
    """An argument's value cannot be meant so; ``argument`` is its name."""

    def __init__(self, argument: str, fault: str, remedy: str) -> None:
        self.argument, self.fault, self.remedy = argument, fault, remedy
        super().__init__(f"{argument}: {fault} {remedy}")


class WrongType(ClientError, TypeError):
    """An argument is of a type that the function does not take; ``argument`` is its name."""

    def __init__(self, argument: str, fault: str, remedy: str) -> None:
        self.argument, self.fault, self.remedy = argument, fault, remedy
        super().__init__(f"{argument}: {fault} {remedy}")


def type_name(value: object) -> str:
    """The type of a value as messages name it: ``list``, ``numpy.ndarray``."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
