"""What a release consists of: `python -m tools.dist` (`make dist`) makes it in dist/."""
