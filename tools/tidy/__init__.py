"""House rules as a program: what style.md asks for and no formatter or linter checks. Run by `./x check`."""
