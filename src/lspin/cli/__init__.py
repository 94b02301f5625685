"""The command ``lspin``: tables in files become models, predictions, explanations and pages."""


def main() -> None:
    """Run the command line."""
    from lspin.cli.commands import app

    app()
