"""``python -m app`` and ``privacy-risk``."""

import sys


def main() -> None:
    """Run the command line; ``verify`` without loading what serves and computes."""
    if sys.argv[1:2] == ["verify"]:
        from app.cli import verify

        sys.exit(verify.main(sys.argv[2:]))
    # Not at the top: the processes of runs import this module, and need nothing of main.
    from app.main import main as run

    run()


if __name__ == "__main__":
    main()
