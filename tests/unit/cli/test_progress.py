import io

from app.cli.progress import Bar, Lines, listener_for
from privacy_risk import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_a_bar_that_is_redrawn_in_place():
    out = Terminal()
    listener = listener_for(out)
    assert isinstance(listener, Bar)
    listener.progress("optimisation", Progress("rules", 150, 300, 42.0))
    listener.done("optimisation", 1.5, "optimal")
    drawn, rest = out.getvalue().split("\n", 1)
    assert "█" * 15 + "░" * 15 in drawn
    assert "rules 150 of 300 (50 %), 42 per second" in drawn
    assert drawn.rindex("\r") > drawn.index("rules")
    assert rest == ""


def test_a_pipe_gets_plain_lines_without_control_characters():
    out = io.StringIO()
    listener = listener_for(out)
    assert type(listener) is Lines
    listener.progress("optimisation", Progress("rules", 3, 12))
    listener.done("optimisation", 0.25, "optimal")
    assert out.getvalue().splitlines() == [
        "  optimisation: rules 3 of 12 (25 %)",
        "  optimisation      0.25 s  optimal",
    ]


def test_no_units_at_all_are_no_reason_to_fail():
    Bar(out := io.StringIO()).progress("optimisation", Progress("waiting", 0, 0))
    assert "waiting 0 of 0 (0 %)" in out.getvalue()
