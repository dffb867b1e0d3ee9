"""``python -m app`` and ``privacy-risk``."""

if __name__ == "__main__":
    # Not at the top: the processes of runs import this module, and need nothing of main.
    from app.main import main

    main()
